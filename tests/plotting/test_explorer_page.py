"""The page in a real browser: it shows the right weights, by mouse, keyboard and finger."""

from types import SimpleNamespace

import numpy as np
import pytest

from aiayn_keras.plotting import attention_explorer
from tests.browser import (
    contrast,
    forced_colors,
    luminance,
    prefer_scheme,
    requested_urls,
    set_width,
    style_of,
)
from tests.helpers import H, S, T, assert_close

ATTACK = "</script><img src=x onerror=document.title='hurt'>"
KINDS = {"encoder": 0, "decoder": 1, "cross": 2}
MEAN = H


class Page:
    """The explorer as its user sees it."""

    def __init__(self, browser):
        self.browser = browser

    def find(self, selector):
        return self.browser.find_elements("css selector", selector)

    def choose(self, group, index):
        self.find(f"#{group} label")[index].click()

    def words(self, side):
        return [word.text for word in self.find(f"#{side} .word")]

    def chosen(self, group):
        (label,) = self.find(f"#{group} label:has(:checked)")
        return label.text

    def button(self, side, index):
        return self.find(f"#{side} button")[index]

    def hover(self, side, index):
        button = self.button(side, index)
        self.browser.execute_script("arguments[0].scrollIntoView({ block: 'nearest' })", button)
        self.mouse.move_to_element(button).perform()

    def press(self, *keys):
        self.mouse.send_keys(*keys).perform()

    @property
    def mouse(self):
        from selenium.webdriver.common.action_chains import ActionChains

        return ActionChains(self.browser, duration=0)

    def weights(self, side):
        """The numbers beside the words of a side, or an empty list if there are none."""
        return [float(number.text) for number in self.find(f"#{side} .number") if number.text]

    def marked(self):
        """Sides and places of the words that the page marks as the one shown."""
        return [
            (side, index)
            for side in ("queries", "keys")
            for index, button in enumerate(self.find(f"#{side} button"))
            if "chosen" in button.get_attribute("class").split()
        ]

    def slide(self, name, value):
        self.browser.execute_script(
            "const slider = document.getElementById(arguments[0]); slider.value = arguments[1];"
            "slider.dispatchEvent(new Event('input', { bubbles: true }));",
            name,
            value,
        )

    def colors(self):
        """The colour of every line."""
        return self.browser.execute_script(
            "return [...document.querySelectorAll('#lines path')]"
            ".map(line => getComputedStyle(line).stroke)"
        )

    def lines(self):
        return self.browser.execute_script(
            "return [...document.querySelectorAll('#lines path')]"
            ".map(line => [line.getAttribute('d'), parseFloat(line.style.strokeWidth)])"
        )

    def status(self):
        (status,) = self.find("#status")
        return status.text.replace("\N{NO-BREAK SPACE}", " ")


def same_as_shown(shown, weights):
    """Fails unless every number is the weight, in three digits."""
    assert_close(shown, weights, rtol=0, atol=0.00052)


@pytest.fixture
def open_page(browser, tmp_path):
    """Returns a function that opens the explorer of some maps; its console must stay empty."""
    browser.get("about:blank")
    for log in ("browser", "performance"):
        browser.get_log(log)

    def open_(maps, title=None):
        path = tmp_path / "attention.html"
        attention_explorer(maps, title).save(path)
        browser.get(path.as_uri())
        return Page(browser)

    yield open_
    assert browser.get_log("browser") == []


@pytest.fixture
def page(open_page, maps):
    return open_page(maps)


def test_the_page_requests_nothing_but_itself(page, browser, tmp_path):
    urls = [url for url in requested_urls(browser) if not url.startswith("data:")]
    assert urls == [(tmp_path / "attention.html").as_uri()]


def test_the_page_may_request_nothing(page):
    directive = page.browser.execute_async_script(
        "const done = arguments[0];"
        "document.addEventListener('securitypolicyviolation', e => done(e.effectiveDirective));"
        "fetch('http://127.0.0.1:9/').catch(() => setTimeout(done, 2000, 'not refused'));"
    )
    page.browser.get_log("browser")  # it tells of the refusal
    assert directive == "connect-src"


def written(maps):
    """The words of cross-attention's rows, each named by what is written there."""
    return [*maps.target_tokens[1:], "</s>"]


def test_it_begins_with_the_mean_of_the_last_cross_attention(page, maps):
    assert page.words("queries") == written(maps)
    assert page.words("keys") == [*maps.source_tokens]
    assert [page.chosen(group) for group in ("kinds", "layers", "heads")] == [
        "Cross-attention",
        "2",
        "mean",
    ]
    drawn = np.count_nonzero(maps.cross[1].mean(axis=0) >= 0.03)
    assert 0 < len(page.lines()) == drawn < T * S


def test_a_word_shows_where_it_looks(page, maps):
    weights = maps.cross[1].mean(axis=0)
    for index in (3, 6):
        page.hover("queries", index)
        assert page.marked() == [("queries", index)]
        same_as_shown(page.weights("keys"), weights[index])
        assert page.weights("queries") == []
        strongest = int(weights[index].argmax())
        assert page.status().startswith(
            f"{written(maps)[index]} looks at ▁source{strongest} {weights[index].max():.3f}, "
        )


def test_a_word_shows_who_looks_at_it(page, maps):
    weights = maps.cross[1].mean(axis=0)[:, 2]
    page.hover("keys", 2)
    assert page.marked() == [("keys", 2)]
    same_as_shown(page.weights("queries"), weights)
    assert page.status().startswith(f"▁source2 is looked at by {written(maps)[weights.argmax()]} ")


def test_a_larger_weight_has_a_wider_line(page, maps):
    page.slide("threshold", 0)
    page.hover("queries", 4)
    lines = page.lines()
    weights = [weight for weight in maps.cross[1].mean(axis=0)[4] if weight >= 0.0005]
    assert [line.split(",")[1].split()[0] for line, _ in lines] == ["4.5"] * len(weights)
    assert np.argsort([width for _, width in lines]).tolist() == np.argsort(weights).tolist()


def test_weights_go_when_the_mouse_goes(page):
    page.hover("queries", 3)
    page.mouse.move_to_element(page.find("footer")[0]).perform()
    assert page.marked() == page.weights("keys") == []


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("layer", [0, 1])
@pytest.mark.parametrize("head", [0, 2, MEAN])
def test_kind_layer_and_head_choose_the_weights(page, maps, kind, layer, head):
    page.choose("kinds", KINDS[kind])
    page.choose("layers", layer)
    page.choose("heads", head)
    page.hover("queries", 4)
    heads = getattr(maps, kind)[layer]
    same_as_shown(page.weights("keys"), (heads.mean(axis=0) if head == MEAN else heads[head])[4])


def test_several_heads_have_colours_and_the_numbers_are_their_mean(page, maps):
    page.choose("heads", 0)
    page.choose("heads", 2)
    page.hover("queries", 3)
    same_as_shown(page.weights("keys"), maps.cross[1, [0, 2], 3].mean(axis=0))
    drawn = [np.count_nonzero(maps.cross[1, head, 3] >= 0.03) for head in (0, 2)]
    colors = page.colors()
    assert sorted(map(colors.count, set(colors))) == sorted(drawn)
    samples = page.browser.execute_script(
        "return [...document.querySelectorAll('#heads .sample')]"
        ".map(sample => getComputedStyle(sample).backgroundColor)"
    )
    assert len(samples) == 2
    assert set(samples) == set(colors)


def test_heads_that_are_let_go_leave_the_mean(page, maps):
    page.choose("heads", 1)
    page.choose("heads", 2)
    page.choose("heads", 1)
    assert page.chosen("heads") == "3"
    page.choose("heads", 2)
    assert page.chosen("heads") == "mean"
    page.hover("queries", 3)
    same_as_shown(page.weights("keys"), maps.cross[1].mean(axis=0)[3])


def test_a_small_map_chooses_its_layer_and_head(page, maps):
    buttons = page.find("#maps-of-heads button")
    assert len(buttons) == 2 * H
    page.choose("heads", 2)
    buttons[1].click()
    assert (page.chosen("layers"), page.chosen("heads")) == ("1", "2")
    pressed = [each.get_attribute("aria-pressed") for each in page.find("#maps-of-heads button")]
    assert pressed == ["false", "true", *["false"] * (2 * H - 2)]
    page.hover("queries", 3)
    same_as_shown(page.weights("keys"), maps.cross[0, 1, 3])


@pytest.mark.parametrize("threshold", [0, 0.1, 0.3])
def test_lines_below_the_threshold_are_left_out(page, maps, threshold):
    page.slide("threshold", threshold)
    weights = maps.cross[1].mean(axis=0)
    assert len(page.lines()) == np.count_nonzero(weights >= max(threshold, 0.0005))
    page.hover("keys", 1)
    assert len(page.lines()) == np.count_nonzero(weights[:, 1] >= max(threshold, 0.0005))
    assert len(page.weights("queries")) == T, "the numbers stay"


def test_pieces_are_joined_to_words(open_page, make_maps):
    source = ["▁the", "▁tr", "ain", "▁is", "▁la", "te", ".", "</s>"]
    maps = make_maps(source, ["<s>", "▁er", "▁ver", "spät", "et"])
    page = open_page(maps)
    assert page.words("keys") == source
    assert not page.find("#joined")[0].is_displayed()
    page.choose("units", 1)
    assert page.words("keys") == ["the", "train", "is", "late", ".", "</s>"]
    assert page.words("queries") == ["er", "verspätet", "</s>"]
    assert "summed" in page.find("#joined")[0].text
    weights = maps.cross[1].mean(axis=0)
    columns = [weights[:, places].sum(axis=1) for places in ([0], [1, 2], [3], [4, 5], [6], [7])]
    joined = np.stack(columns, axis=1)
    joined = np.stack([joined[0], joined[1:4].mean(axis=0), joined[4]])
    page.hover("queries", 1)
    same_as_shown(page.weights("keys"), joined[1])
    page.hover("keys", 3)
    same_as_shown(page.weights("queries"), joined[:, 3])
    page.choose("units", 0)
    assert page.words("keys") == source


@pytest.mark.parametrize("token", ["▁a", "a"])
def test_words_of_one_piece_each_are_not_joined(open_page, make_maps, token):
    page = open_page(make_maps([token] * S, ["<s>", token]))
    assert not page.find("#units")[0].is_displayed()


def test_the_pair_is_the_title(page):
    source = " ".join(f"source{i}" for i in range(S))
    target = " ".join(f"target{i}" for i in range(T))
    assert page.find("h1")[0].text == page.browser.title == f"{source} → {target}"


def test_self_attention_has_the_same_words_on_both_sides(page, maps):
    page.choose("kinds", KINDS["encoder"])
    assert page.words("queries") == page.words("keys") == [*maps.source_tokens]
    page.choose("kinds", KINDS["decoder"])
    assert page.words("queries") == page.words("keys") == [*maps.target_tokens]


def test_a_clicked_word_stays_while_the_head_changes(page, maps):
    page.button("queries", 2).click()
    page.choose("heads", 1)
    assert page.marked() == [("queries", 2)]
    same_as_shown(page.weights("keys"), maps.cross[1, 1, 2])
    page.choose("layers", 0)
    same_as_shown(page.weights("keys"), maps.cross[0, 1, 2])
    page.button("queries", 2).click()
    page.mouse.move_to_element(page.find("footer")[0]).perform()
    assert page.marked() == [], "a second click lets it go"


def test_the_page_is_used_with_the_keyboard_alone(page, maps):
    from selenium.webdriver.common.keys import Keys

    weights = maps.cross[1, 0]
    page.find("#heads input")[0].send_keys(Keys.SPACE)
    assert page.chosen("heads") == "1"
    page.find("#threshold")[0].send_keys(Keys.TAB)
    assert page.marked() == [("queries", 0)]
    page.press(Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ARROW_UP)
    assert page.marked() == [("queries", 2)]
    same_as_shown(page.weights("keys"), weights[2])
    strongest = int(weights[2].argmax())
    page.press(Keys.ARROW_RIGHT)
    assert page.marked() == [("keys", strongest)]
    same_as_shown(page.weights("queries"), weights[:, strongest])
    page.press(Keys.ARROW_LEFT)
    assert page.marked() == [("queries", int(weights[:, strongest].argmax()))]
    page.press(Keys.END)
    assert page.marked() == [("queries", T - 1)]
    page.press(Keys.ARROW_DOWN)
    assert page.marked() == [("queries", T - 1)]
    page.press(Keys.HOME)
    assert page.marked() == [("queries", 0)]
    page.press(Keys.TAB)
    assert page.marked() == [("keys", 0)], "Tab leaves the column"
    page.press(Keys.ESCAPE)
    assert page.marked() == []


def test_kinds_are_chosen_with_the_keyboard_one_after_the_other(page):
    from selenium.webdriver.common.keys import Keys

    page.find("#kinds input")[2].send_keys(Keys.ARROW_LEFT)
    assert page.chosen("kinds") == "Decoder self-attention"
    page.press(Keys.ARROW_LEFT)
    assert page.chosen("kinds") == "Encoder self-attention"


def test_a_finger_chooses_a_word(page, maps):
    page.browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": True})
    try:
        button = page.button("keys", 1)
        page.browser.execute_script("arguments[0].scrollIntoView({ block: 'center' })", button)
        place = page.browser.execute_script(
            "return arguments[0].getBoundingClientRect().toJSON()", button
        )
        point = {"x": place["x"] + 20, "y": place["y"] + place["height"] / 2}
        for kind, points in (("touchStart", [point]), ("touchEnd", [])):
            page.browser.execute_cdp_cmd(
                "Input.dispatchTouchEvent", {"type": kind, "touchPoints": points}
            )
        same_as_shown(page.weights("queries"), maps.cross[1].mean(axis=0)[:, 1])
    finally:
        page.browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": False})


def test_a_token_of_markup_is_inert_text(open_page, make_maps):
    page = open_page(make_maps([ATTACK, "b"], ["<s>", "<b>x</b>", "&lt;"]), title=ATTACK)
    assert page.words("keys") == [ATTACK.replace(" ", "␣"), "b"]
    assert page.words("queries") == ["<b>x</b>", "&lt;", "</s>"]
    page.hover("keys", 0)
    assert page.status().startswith(ATTACK.replace(" ", "␣"))
    assert page.find("h1")[0].text == page.browser.title == ATTACK
    assert page.find("img") == page.find("b") == []


def test_markup_that_got_into_the_page_would_run_no_script(page):
    title = page.browser.execute_async_script(
        "const done = arguments[0];"
        f"document.body.insertAdjacentHTML('beforeend', {ATTACK!r});"
        "setTimeout(() => done(document.title), 300);"
    )
    page.browser.get_log("browser")  # it tells of the refusal
    assert title != "hurt"
    assert title.startswith("source0 source1")


def test_invisible_and_right_to_left_tokens_are_seen(open_page, make_maps):
    page = open_page(make_maps(["▁كتاب", "\u200b"], ["<s>", "\u202e", " "]))
    assert page.words("keys") == ["▁كتاب", "⟨U+200B⟩"]
    assert page.words("queries") == ["⟨U+202E⟩", "␣", "</s>"]
    arabic, latin = (word.value_of_css_property("direction") for word in page.find("#keys .word"))
    assert (arabic, latin) == ("rtl", "ltr")


def test_the_frame_of_a_notebook_works_whatever_style_is_around_it(open_page, maps, tmp_path):
    page = open_page(maps)
    frame = attention_explorer(maps)._repr_html_()
    (tmp_path / "notebook.html").write_text(f"<style>button {{ display: none }}</style>{frame}")
    page.browser.get((tmp_path / "notebook.html").as_uri())
    page.browser.switch_to.frame(0)
    page.choose("heads", 1)
    page.button("queries", 3).click()
    same_as_shown(page.weights("keys"), maps.cross[1, 1, 3])


@pytest.fixture
def narrow(browser):
    """Returns a function that gives the window a width."""
    yield lambda width: set_width(browser, width)
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.parametrize(("width", "length"), [(360, 12), (1280, 60)])
def test_nothing_is_cut_off_at_the_side(open_page, make_maps, narrow, width, length):
    narrow(width)
    tokens = [f"▁token{index}" for index in range(length - 1)] + ["▁Donaudampfschifffahrt" * 3]
    page = open_page(make_maps(tokens, tokens), title="long " * 20)
    page.hover("queries", length - 1)
    assert len(page.weights("keys")) == length
    wide, narrow = page.browser.execute_script(
        "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    )
    assert wide <= narrow <= width


@pytest.mark.parametrize("width", [360, 500, 1280])
@pytest.mark.parametrize("token", ["▁a", "▁Donaudampfschifffahrt"])
def test_words_stay_in_their_place_when_one_is_shown(open_page, make_maps, narrow, width, token):
    narrow(width)
    page = open_page(make_maps([token] * S, [token] * T))
    (status,) = page.find("#status")
    needed = page.browser.execute_script("return arguments[0].scrollHeight", status)
    assert needed <= status.rect["height"], "the first hint is read without scrolling"
    before = page.button("queries", 1).rect
    page.hover("queries", 1)
    assert page.marked() == [("queries", 1)]
    assert page.button("queries", 1).rect == before


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_ink_and_paper_follow_the_reader_and_differ_enough(page, scheme):
    prefer_scheme(page.browser, scheme)
    try:
        page.hover("queries", 0)
        paper = page.find("body")[0].value_of_css_property("background-color")
        assert (luminance(paper) > 0.5) == (scheme == "light")
        for selector in ("body", "footer", "button.faint .word"):
            ink = page.find(selector)[0].value_of_css_property("color")
            assert contrast(ink, paper) >= 4.5, selector
    finally:
        prefer_scheme(page.browser, None)


def test_one_matrix_is_shown_without_choices(open_page, maps):
    only = SimpleNamespace(**vars(maps))
    only.encoder = only.decoder = None
    only.cross = maps.cross[1:, :1]
    page = open_page(only)
    assert [group.is_displayed() for group in page.find("fieldset")] == [False] * 4
    assert not page.find("#overview")[0].is_displayed()
    page.hover("queries", 3)
    same_as_shown(page.weights("keys"), maps.cross[1, 0, 3])


def test_a_page_around_the_explorer_is_told_the_height_that_it_needs(open_page, maps, tmp_path):
    from selenium.webdriver.support.wait import WebDriverWait

    page = open_page(maps)
    listen = "<script>onmessage = ({ data }) => { document.title = data.height; }</script>"
    frame = attention_explorer(maps)._repr_html_()
    (tmp_path / "around.html").write_text(f"<!DOCTYPE html>{listen}{frame}")
    page.browser.get((tmp_path / "around.html").as_uri())
    WebDriverWait(page.browser, 30).until(lambda browser: browser.title.isdecimal())
    height = int(page.browser.title)
    page.browser.switch_to.frame(0)
    needed = page.browser.execute_script("return document.documentElement.scrollHeight")
    assert needed <= height <= needed + 3


def test_what_is_chosen_and_the_colours_of_heads_are_seen_with_forced_colors(page, browser):
    with forced_colors(browser):
        page.choose("heads", 0)
        page.choose("heads", 1)
        page.button("queries", 0).click()
        paper = style_of(browser, "body", "backgroundColor")
        for selector in ("#heads .sample", "#keys .bars span"):
            assert style_of(browser, selector, "backgroundColor") not in (paper, "rgba(0, 0, 0, 0)")
        for chosen, other in (
            ("#maps-of-heads [aria-pressed=true]", "#maps-of-heads [aria-pressed=false]"),
            ("#layers :checked + span", "#layers :not(:checked) + span"),
        ):
            colors = [style_of(browser, each, "borderTopColor") for each in (chosen, other)]
            assert colors[0] != colors[1]
        assert style_of(browser, "#queries .chosen", "borderTopWidth") == "2px"
