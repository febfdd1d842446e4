"""The page of a search in a browser: what a reader sees at each step, and can change."""

import dataclasses
import math

import numpy as np
import pytest

from aiayn_keras.plotting import decoding_steps
from tests.browser import (
    contrast,
    forced_colors,
    luminance,
    prefer_scheme,
    requested_urls,
    set_width,
    style_of,
)
from tests.helpers import S, assert_close
from tests.plotting.random_record import KEY_DIM, H, N, random_record, score

ATTACK = "</script><img src=x onerror=document.title='hurt'>"
ALPHAS = (0.0, 0.6, 2.0)


class Page:
    """The page as its user sees it."""

    def __init__(self, browser):
        self.browser = browser

    def find(self, selector):
        return self.browser.find_elements("css selector", selector)

    def text(self, selector):
        (element,) = self.find(selector)
        return element.text.replace("−", "-")

    def click(self, selector):
        self.find(selector)[0].click()

    def slide(self, name, value):
        self.browser.execute_script(
            "const slider = document.getElementById(arguments[0]); slider.value = arguments[1];"
            "slider.dispatchEvent(new Event('input', { bubbles: true }));",
            name,
            value,
        )

    def press(self, *keys):
        from selenium.webdriver.common.action_chains import ActionChains

        ActionChains(self.browser, duration=0).send_keys(*keys).perform()

    def table(self, name):
        rows = self.browser.execute_script(
            "return [...document.getElementById(arguments[0]).tBodies[0].rows]"
            ".map(row => [...row.cells].map(cell => cell.textContent))",
            name,
        )
        return [[cell.replace("−", "-") for cell in row] for row in rows]

    def tree(self):
        """The pieces in the rows of the tree, and the places marked as the chosen one's way."""
        return self.browser.execute_script(
            "const shown = cell => [cell.querySelector('span').textContent,"
            " cell.classList.contains('path'), cell.classList.contains('dead')];"
            "return [...document.querySelectorAll('#tree .row')]"
            ".map(row => [...row.querySelectorAll('button')].map(shown))"
        )

    def weights(self):
        return [float(number.text) for number in self.find("#weights .number")]

    def chosen(self):
        """Row and place of the hypothesis that is looked at."""
        return self.browser.execute_script(
            "const cell = document.querySelector('#tree .chosen'), row = cell.closest('.row');"
            "return [[...document.querySelectorAll('#tree .row')].indexOf(row),"
            " [...row.querySelectorAll('button')].indexOf(cell)]"
        )

    def squares(self, kind):
        return len(self.find(f"#written rect.{kind}"))


def steps_of(record, num_beams, alpha):
    (search,) = (each for each in record.searches if each.num_beams == num_beams)
    return search.steps[: search.num_steps[alpha]], search


@pytest.fixture(scope="module")
def record():
    return random_record([f"▁source{i}" for i in range(S)])


@pytest.fixture
def open_page(browser, tmp_path):
    """Returns a function that opens the page of a record; its console must stay empty."""
    browser.get("about:blank")
    for log in ("browser", "performance"):
        browser.get_log(log)

    def open_(record, title=None):
        path = tmp_path / "steps.html"
        decoding_steps(record, title).save(path)
        browser.get(path.as_uri())
        return Page(browser)

    yield open_
    assert browser.get_log("browser") == []


@pytest.fixture
def page(open_page, record):
    return open_page(record)


@pytest.fixture
def narrow(browser):
    """Returns a function that gives the window a width."""
    yield lambda width: set_width(browser, width)
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


# === Steps ===


def test_the_page_requests_nothing_but_itself(page, browser, tmp_path):
    urls = [url for url in requested_urls(browser) if not url.startswith("data:")]
    assert urls == [(tmp_path / "steps.html").as_uri()]


def test_it_begins_with_the_start_token_of_the_search_with_four_beams(page, record):
    assert page.text("#beams-value") == "4"
    assert page.text("#alpha-value") == "0.60"
    assert page.text("#step-value") == "1 of 4"
    assert page.text("h1") == page.browser.title == record.source
    assert page.text("#status").startswith("Step 1: 1 live hypothesis, ")
    (start, following) = page.tree()
    assert start == [["<s>", True, False]]
    assert len(following) == len(record.searches[2].steps[1].hypotheses)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_every_step_shows_its_candidates_and_what_becomes_of_them(page, record, place):
    page.slide("beams", place)
    steps, search = steps_of(record, (1, 2, 4)[place], 0.6)
    assert page.text("#beams-value") == str(search.num_beams)
    for index, step in enumerate(steps):
        lives = 0
        expected = []
        for each in step.candidates:
            lives += each.fate == "lives"
            then = f"lives on as {lives}" if each.fate == "lives" else each.fate
            expected.append([str(each.beam + 1), each.token, f"{each.log_prob:.3f}", then])
        assert page.table("candidates") == expected
        assert page.text("#step-value") == f"{index + 1} of {len(steps)}"
        page.click("#forward")
    assert page.text("#status").endswith("The search is over.")
    assert not page.find("#forward")[0].is_enabled()


def test_the_tree_shows_all_hypotheses_up_to_the_step_and_what_lives_on(page, record):
    steps, _ = steps_of(record, 4, 0.6)
    page.click("#last")
    page.click("#back")
    rows = page.tree()
    for row, step in zip(rows[:-1], steps, strict=False):
        pieces = [words[-1] if words else "<s>" for words in step.hypotheses]
        assert [piece for piece, _, _ in row] == pieces
        going_on = {each.beam for each in step.candidates if each.fate != "is dropped"}
        dead = [place not in going_on for place in range(len(pieces))]
        assert [is_dead for _, _, is_dead in row] == dead
    assert len(rows) == len(steps)
    assert any(is_dead for row in rows for _, _, is_dead in row)


def test_the_way_to_a_chosen_hypothesis_is_marked(page, record):
    steps, _ = steps_of(record, 4, 0.6)
    page.click("#last")
    for place, words in enumerate(steps[-1].hypotheses):
        page.find("#tree .row")[-2].find_elements("css selector", "button")[place].click()
        assert page.chosen() == [len(steps) - 1, place]
        marked = [[piece for piece, is_own, _ in row if is_own] for row in page.tree()]
        assert marked == [["<s>"], *([word] for word in words), []]
        assert "".join(words).replace("▁", " ").strip() in page.text("#chosen")


def test_a_hypothesis_of_an_earlier_step_is_chosen_by_a_click(page):
    page.click("#last")
    page.find("#tree .row:nth-of-type(2) button")[1].click()
    assert page.chosen() == [1, 1]
    assert page.text("#step-value") == "2 of 4"


def test_the_page_is_used_with_the_keyboard_alone(page):
    from selenium.webdriver.common.keys import Keys

    page.press(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    assert page.text("#step-value") == "3 of 4"
    page.press(Keys.ARROW_LEFT)
    assert page.text("#step-value") == "2 of 4"
    row, place = page.chosen()
    page.press(Keys.ARROW_DOWN)
    assert page.chosen() == [row, (place + 1) % 3]
    page.press(Keys.ARROW_UP)
    assert page.chosen() == [row, place]
    page.press(Keys.END)
    assert page.text("#step-value") == "4 of 4"
    page.press(Keys.ARROW_RIGHT)
    assert page.text("#step-value") == "4 of 4"
    page.press(Keys.HOME)
    assert page.text("#step-value") == "1 of 4"
    page.find("#step")[0].send_keys(Keys.ARROW_RIGHT)
    assert page.text("#step-value") == "2 of 4"


@pytest.mark.slow
def test_the_steps_are_played_and_stop_at_a_press_of_the_button(page):
    from selenium.webdriver.support.wait import WebDriverWait

    page.click("#play")
    assert page.text("#play") == "Pause"
    WebDriverWait(page.browser, 60).until(lambda _: page.text("#step-value") == "4 of 4")
    assert page.text("#play") == "Play"


# === Ranking ===


@pytest.mark.slow
@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_recorded_alpha_ends_with_what_the_search_returned(page, record, place, alpha):
    page.slide("beams", place)
    page.slide("alpha", alpha)
    page.click("#last")
    steps, search = steps_of(record, (1, 2, 4)[place], alpha)
    ended = [each for each in search.finished if each.step < len(steps)]
    expected = [
        [each.text, f"{each.log_prob:.3f}", str(len(each.tokens) + 1), f"{score(each, alpha):.3f}"]
        for each in sorted(ended, key=lambda each: -score(each, alpha))
    ]
    assert page.table("finished") == expected
    assert page.table("finished")[0][0] == search.finished[search.best[alpha]].text
    assert page.text("#step-value") == f"{len(steps)} of {len(steps)}"
    assert page.text("#recorded").endswith("Recorded: α = 0, 0.6, 2.")
    assert "is ranked by" not in page.text("#recorded")
    assert ": it may still win" not in page.text("#hope")


@pytest.mark.parametrize(("alpha", "nearest"), [(0.25, 0.0), (0.35, 0.6), (1.25, 0.6), (1.5, 2.0)])
def test_another_alpha_ranks_what_the_nearest_recorded_search_has_finished(
    page, record, alpha, nearest
):
    page.slide("alpha", alpha)
    page.click("#last")
    steps, search = steps_of(record, 4, nearest)
    assert f"with 4 beams and α = {nearest:g}, over after {len(steps)} steps" in page.text(
        "#recorded"
    )
    assert f"is ranked by α = {alpha:.2f}" in page.text("#recorded")
    ended = [each for each in search.finished if each.step < len(steps)]
    expected = sorted((score(each, alpha) for each in ended), reverse=True)
    assert [row[3] for row in page.table("finished")] == [f"{each:.3f}" for each in expected]


def test_alpha_changes_the_winner(page):
    page.click("#last")
    before = page.table("finished")[0][0]
    page.slide("alpha", 2)
    page.click("#last")
    assert page.table("finished")[0][0] != before


# === Attention and cache ===


def softmax(scores):
    powers = np.exp(scores - scores.max())
    return powers / powers.sum()


def entropy(page):
    return float(page.text("#entropy").split(": ")[1].split()[0])


@pytest.mark.parametrize(
    ("place", "divisor"),
    [(0, 1.0), (10, KEY_DIM**0.25), (20, KEY_DIM**0.5), (40, 2 * KEY_DIM**0.5)],
)
def test_the_divisor_makes_the_weights_anew(page, record, place, divisor):
    steps, _ = steps_of(record, 4, 0.6)
    page.click("#last")
    row, chosen = page.chosen()
    page.slide("divisor", place)
    for layer in range(N):
        page.find("#layers label")[layer].click()
        scores = steps[row].scores[chosen, layer] / divisor
        page.find("#heads label")[1].click()
        assert_close(page.weights(), softmax(scores[1]), rtol=0, atol=0.001)
        page.find("#heads label")[H].click()
        mean = np.mean([softmax(head) for head in scores], axis=0)
        assert_close(page.weights(), mean, rtol=0, atol=0.001)
        assert_close(entropy(page), -(mean * np.log(mean)).sum(), rtol=0, atol=0.002)
    assert page.text("#divisor-value").startswith(f"{divisor:.2f}")
    assert page.text("#divisor-value").endswith("= √16") == (place == 20)


def test_a_smaller_divisor_makes_attention_sharper(page):
    page.find("#heads label")[0].click()
    found = []
    for place in (0, 20, 40):
        page.slide("divisor", place)
        found.append(entropy(page))
    assert found[0] < found[1] < found[2] < math.log(S)


def test_the_cache_grows_by_a_position_a_step_and_the_source_does_not(page, record):
    steps, _ = steps_of(record, 4, 0.6)
    for index in range(len(steps)):
        assert len(page.find("#memory rect.kept")) == S
        assert page.squares("own") == index + 1
        live = sum(len(step.hypotheses) for step in steps[: index + 1])
        assert page.squares("own") + page.squares("kept") == live
        slots = (index + 1) * 4
        numbers = N * 2 * H * KEY_DIM * (S + slots)
        assert page.text("#size").endswith(f"= {numbers:,} numbers.")
        page.click("#forward")


# === Safety and looks ===


def test_words_of_markup_are_inert_text(open_page):
    page = open_page(random_record([ATTACK, "b"], words=(ATTACK, "<b>x</b>")), title=ATTACK)
    shown = ATTACK.replace(" ", "␣")
    assert page.text("h1") == page.browser.title == ATTACK
    assert page.find("#weights .word")[0].text == shown
    page.click("#last")
    assert shown in [row[1] for row in page.table("candidates")]
    assert page.find("img") == page.find("b b") == []


@pytest.mark.parametrize("width", [360, 390, 1200])
def test_nothing_is_cut_off_at_the_side(open_page, narrow, width):
    narrow(width)
    words = tuple(f"▁Donaudampfschifffahrt{i}" * 2 for i in range(9))
    page = open_page(random_record([*words, "</s>"], words, beam_counts=(8,)), title="long" * 60)
    page.click("#last")
    wide, inner = page.browser.execute_script(
        "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    )
    assert wide <= inner <= width


def test_the_buttons_of_the_steps_stay_where_they_are(page, narrow):
    narrow(390)
    (button,) = page.find("#forward")
    before = button.rect
    for _ in range(3):
        page.click("#forward")
        assert page.find("#forward")[0].rect == before


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_ink_and_paper_follow_the_reader_and_differ_enough(page, scheme):
    prefer_scheme(page.browser, scheme)
    try:
        page.click("#last")
        paper = page.find("body")[0].value_of_css_property("background-color")
        assert (luminance(paper) > 0.5) == (scheme == "light")
        inks = ("body", "footer", ".cell.dead", "tr.dropped td", "tr.ends td", "#recorded", "th")
        for selector in inks:
            ink = page.find(selector)[0].value_of_css_property("color")
            assert contrast(ink, paper) >= 4.5, selector
    finally:
        prefer_scheme(page.browser, None)


def test_every_control_has_a_name(page):
    names = [
        element.accessible_name for element in page.find("button, input, [role=img], [role=group]")
    ]
    assert all(names)
    assert "Step forward" in names
    assert not page.find("output:not([aria-live=off])")  # a slider says its own value
    for name, said in (("beams", "4 beams"), ("step", "step 1 of 4")):
        assert page.find(f"#{name}")[0].get_attribute("aria-valuetext") == said
    tables = [table.accessible_name for table in page.find("table")]
    assert tables == ["Candidates of this step", "Finished so far, ranked with α = 0.60"]


def test_the_focus_stays_when_its_button_can_no_longer_be_pressed(page):
    from selenium.webdriver.common.keys import Keys

    for name in ("last", "first"):
        page.find(f"#{name}")[0].send_keys(Keys.ENTER)
        assert not page.find(f"#{name}")[0].is_enabled()
        assert page.browser.switch_to.active_element.get_attribute("id") == "play"


def test_one_search_of_one_layer_and_head_is_shown_without_choices(open_page, record):
    search = record.searches[0]
    steps = tuple(dataclasses.replace(step, scores=step.scores[:, :1, :1]) for step in search.steps)
    search = dataclasses.replace(search, steps=steps)
    page = open_page(dataclasses.replace(record, searches=(search,)))
    assert [group.is_displayed() for group in page.find("fieldset")] == [False, False]
    assert not page.find("#beams")[0].is_displayed()
    scores = search.steps[0].scores[0, 0, 0] / KEY_DIM**0.5
    assert_close(page.weights(), softmax(scores), rtol=0, atol=0.001)


def test_a_page_around_the_steps_is_told_the_height_that_they_need(open_page, record, tmp_path):
    from selenium.webdriver.support.wait import WebDriverWait

    page = open_page(record)
    listen = "<script>onmessage = ({ data }) => { document.title = data.height; }</script>"
    frame = decoding_steps(record)._repr_html_()
    (tmp_path / "around.html").write_text(f"<!DOCTYPE html>{listen}{frame}")
    page.browser.get((tmp_path / "around.html").as_uri())
    WebDriverWait(page.browser, 30).until(lambda browser: browser.title.isdecimal())
    assert int(page.browser.title) > 500


@pytest.mark.slow
def test_the_chosen_way_and_the_weights_are_seen_with_forced_colors(page, browser):
    with forced_colors(browser):
        page.click("#forward")
        colors = [
            style_of(browser, each, "borderTopColor") for each in (".cell.path", ".cell:not(.path)")
        ]
        assert colors[0] != colors[1]
        assert "gradient" in style_of(browser, "#weights .bar", "backgroundImage")
        assert style_of(browser, "#weights .bar", "forcedColorAdjust") == "none"
