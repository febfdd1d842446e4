"""Drawings are exact, readable on every background and width, and hold what they name."""

import functools
import itertools
import re
import xml.etree.ElementTree as ElementTree
from collections import Counter

import numpy as np
import pytest
from keras import ops
from matplotlib.textpath import TextPath

from aiayn_keras import layers
from aiayn_keras.decoding.cached_decoding import DecoderCache
from drawings import draw_architecture, draw_mask_choice, draw_shapes
from drawings import mask as masks
from drawings.architecture import GROUPS, PARTS
from drawings.svg import CARD, FONT_SIZE, LIT
from tests.browser import contrast

SVG = "{http://www.w3.org/2000/svg}"
SPLIT = ("x (B, T, D)", "reshape", "(B, T, H, K)", "transpose", "(B, H, T, K)")
DRAWINGS = {
    "architecture": draw_architecture(),
    "attention": draw_architecture("attention", "add_norm", "memory"),
    "stacks": draw_architecture("encoder", "decoder", "token_ids", "embedding", "search"),
    "masks": draw_mask_choice(),
    "shapes": draw_shapes(*SPLIT),
    "many shapes": draw_shapes(*SPLIT, *["transpose", "(B, T, H, K)", "join", "(B, T, D)"] * 3),
}
PHONE = 390 - 2 * 16  # the width that a page's margins leave


def parsed(drawing):
    return ElementTree.fromstring(drawing.svg)


def rectangle(element):
    """Left, upper, right and lower edge of a rectangle."""
    x, y, width, height = (float(element.get(key)) for key in ("x", "y", "width", "height"))
    return x, y, x + width, y + height


@functools.cache
def text_width(text, weight):
    """Width in the widest of the usual fonts."""
    font = {"family": "DejaVu Sans", "weight": weight}
    return TextPath((0, 0), text, size=FONT_SIZE, prop=font).get_extents().x1


def text_rectangle(element):
    """The edges of a line of text."""
    width = text_width(element.text, element.get("font-weight", "normal"))
    x, baseline = float(element.get("x")), float(element.get("y"))
    left = x - width * {"start": 0, "middle": 0.5, "end": 1}[element.get("text-anchor", "start")]
    return left, baseline - 0.75 * FONT_SIZE, left + width, baseline + 0.2 * FONT_SIZE


def overlap(first, second):
    return all(first[i] < second[i + 2] and second[i] < first[i + 2] for i in (0, 1))


def is_inside(inner, outer):
    return all(outer[i] <= inner[i] and inner[i + 2] <= outer[i + 2] for i in (0, 1))


def boxes(root):
    """`(part, rectangle, lines)` of every box."""
    groups = [group for group in root.iter(f"{SVG}g") if group.find(f"{SVG}text") is not None]
    return [(g.get("data-part"), g.find(f"{SVG}rect"), g.findall(f"{SVG}text")) for g in groups]


def filled(root, part):
    return [rect.get("fill") for name, rect, _ in boxes(root) if name == part]


@pytest.fixture(params=DRAWINGS)
def root(request):
    return parsed(DRAWINGS[request.param])


def test_a_screen_reader_says_the_title_and_the_description(root):
    assert root.get("role") == "img"
    title, description = root[:2]
    assert (title.tag, description.tag) == (f"{SVG}title", f"{SVG}desc")
    assert title.text == root.get("aria-label")
    assert title.text
    assert description.text


def test_there_is_nothing_that_a_viewer_would_strip(root):
    tags = {element.tag.removeprefix(SVG) for element in root.iter()}
    assert tags <= {"svg", "title", "desc", "g", "rect", "text", "polyline", "polygon"}
    assert not [e for e in root.iter() if {"id", "class", "href"} & {*e.attrib}]
    assert [e.tag for e in root.iter() if "style" in e.attrib] == [f"{SVG}svg"]


def test_text_stays_readable_on_a_phone(root):
    assert FONT_SIZE * min(1.0, PHONE / float(root.get("width"))) >= 11
    assert root.get("viewBox") == f"0 0 {root.get('width')} {root.get('height')}"
    assert not [text for text in root.iter(f"{SVG}text") if "font-size" in text.attrib]


def test_texts_fit_their_boxes(root):
    for part, rect, lines in boxes(root):
        left, upper, right, lower = rectangle(rect)
        for line in lines:
            room = (left + 3, upper, right - 3, lower)
            assert is_inside(text_rectangle(line), room), (part, line.text)


def test_boxes_and_texts_do_not_overlap(root):
    inside = {line for _, _, lines in boxes(root) for line in lines}
    loose = [text for text in root.iter(f"{SVG}text") if text not in inside]
    grids = [
        (group.get("data-part"), grid_rectangle(group))
        for group in root.iter(f"{SVG}g")
        if group.find(f"{SVG}text") is None
    ]
    things = [(part, rectangle(rect)) for part, rect, _ in boxes(root)]
    things += [(text.text, text_rectangle(text)) for text in loose] + grids
    pairs = itertools.combinations(things, 2)
    assert not [(a, b) for (a, first), (b, second) in pairs if overlap(first, second)]
    card = rectangle(root.find(f"{SVG}rect"))
    assert not [name for name, edges in things if not is_inside(edges, card)]


def test_no_line_crosses_a_text_or_a_box(root):
    texts = [(text.text, text_rectangle(text)) for text in root.iter(f"{SVG}text")]
    inner = [
        (part, (x + 1, y + 1, right - 1, lower - 1))
        for part, rect, _ in boxes(root)
        for x, y, right, lower in [rectangle(rect)]
    ]
    for line in root.iter(f"{SVG}polyline"):
        points = [tuple(map(float, point.split(","))) for point in line.get("points").split()]
        for (x, y), (to_x, to_y) in itertools.pairwise(points):
            edges = min(x, to_x) - 0.5, min(y, to_y) - 0.5, max(x, to_x) + 0.5, max(y, to_y) + 0.5
            assert not [name for name, thing in texts + inner if overlap(edges, thing)]


def test_text_has_contrast_against_what_is_behind_it(root):
    backgrounds = {line: rect.get("fill") for _, rect, lines in boxes(root) for line in lines}
    for text in root.iter(f"{SVG}text"):
        pair = text.get("fill"), backgrounds.get(text, CARD)
        first, second = (f"rgb{tuple(bytes.fromhex(color[1:]))}" for color in pair)
        assert contrast(first, second) >= 4.5, (text.text, pair)


def test_a_drawing_shows_itself_and_is_written_whole(tmp_path):
    drawing = draw_shapes(*SPLIT)
    drawing.save(tmp_path / "shapes.svg")
    assert (tmp_path / "shapes.svg").read_text("utf-8") == drawing.svg == drawing._repr_svg_()
    assert [path.name for path in tmp_path.iterdir()] == ["shapes.svg"]
    assert repr(drawing) == f"SvgDrawing(title={drawing.title!r})"


# === The architecture ===


@pytest.mark.parametrize("part", [part for part in PARTS if part != "memory"])
def test_a_named_part_alone_is_lit(part):
    root = parsed(draw_architecture(part))
    fills = {name: set(filled(root, name)) for name, _, _ in boxes(root)}
    assert fills.pop(part) == {LIT}
    others = set.union(*fills.values())
    assert len(others) == 1
    assert LIT not in others


def test_the_way_of_the_memory_is_lit():
    lit = [line for line in parsed(draw_architecture("memory")).iter() if line.get("stroke") == LIT]
    assert len(lit) == 2
    assert not [line for line in parsed(draw_architecture()).iter() if line.get("stroke") == LIT]


@pytest.mark.parametrize("name", GROUPS)
def test_a_group_lights_its_parts(name):
    assert GROUPS[name]
    root, apart = parsed(draw_architecture(name)), parsed(draw_architecture(*GROUPS[name]))
    assert [rect.attrib for _, rect, _ in boxes(root)] == [r.attrib for _, r, _ in boxes(apart)]


def test_parts_are_as_often_there_as_in_figure_1():
    counted = Counter(part for part, _, _ in boxes(parsed(draw_architecture())))
    assert counted == {part: 1 for part in PARTS if part not in ("memory", "labels")} | {
        "encoder_add_norm": 2,
        "decoder_add_norm": 3,
    }


def test_labels_take_the_place_of_the_search_and_are_not_shifted():
    root = parsed(draw_architecture("softmax", "labels"))
    parts = {part: [line.text for line in lines] for part, _, lines in boxes(root)}
    assert "search" not in parts
    assert "not shifted" in " ".join(parts["labels"])


def test_scores_are_divided_by_the_root_of_a_size_and_not_of_a_matrix():
    lines = [line.text for _, _, lines in boxes(parsed(draw_architecture())) for line in lines]
    assert "Q Kᵀ / √d_k" in lines


def test_a_residual_connection_ends_at_every_norm():
    root = parsed(draw_architecture("add_norm"))
    ends = [
        tuple(map(float, line.get("points").split()[-1].split(",")))
        for line in root.iter(f"{SVG}polyline")
        if line.get("stroke") == LIT
    ]
    norms = [rectangle(rect) for part, rect, _ in boxes(root) if "add_norm" in part]
    assert len(ends) == len(norms) == 5
    for left, upper, right, lower in norms:
        near = [(x, y) for x, y in ends if left - 6 < x < right + 6 and y == (upper + lower) / 2]
        assert len(near) == 1


def test_an_unknown_part_is_refused_with_all_names():
    with pytest.raises(ValueError, match=r"cross_attention.*Received: 'crossattention'") as error:
        draw_architecture("encoder", "crossattention")
    assert all(name in str(error.value) for name in (*PARTS, *GROUPS))


def test_the_docstring_names_every_part():
    named = set(re.findall(r'`"(\w+)"`', draw_architecture.__doc__))
    assert named == {*PARTS, *GROUPS}


# === Strips of shapes ===


def test_a_strip_holds_its_steps_in_their_order():
    texts = [text.text for text in parsed(draw_shapes(*SPLIT)).iter(f"{SVG}text")]
    assert [text for text, _ in itertools.groupby(texts)] == [*SPLIT]


def test_a_row_begins_with_the_shape_that_ended_the_row_before():
    drawn = boxes(parsed(DRAWINGS["many shapes"]))
    rows = {}
    for _, rect, (line,) in drawn:
        rows.setdefault(rectangle(rect)[1], []).append(line.text)
    rows = list(rows.values())
    assert len(rows) > 1
    assert all(above[-1] == below[0] for above, below in itertools.pairwise(rows))


def test_signs_of_markup_are_text():
    root = parsed(draw_shapes("<b>", "&amp;", '"x"'))
    assert [text.text for text in root.iter(f"{SVG}text")] == ["<b>", "&amp;", '"x"']
    assert root[0].text == '<b>, &amp;: "x"'


def test_a_short_strip_is_a_narrow_row():
    short, long = (parsed(DRAWINGS[name]) for name in ("shapes", "many shapes"))
    narrow = parsed(draw_shapes("(B, S)", "embed", "(B, S, D)"))
    assert float(narrow.get("width")) < float(short.get("width")) <= 480
    assert float(narrow.get("height")) < float(short.get("height")) < float(long.get("height"))


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ((), "Received: 0 strings"),
        (("(B, T)", "embed"), "Received: 2 strings"),
        (("(B, T)", "embed", "(B, T, D)", "transpose"), "Received: 4 strings"),
        (("(B, T)", " ", "(B, T, D)"), "non-empty strings. Received: ' '"),
        (("(B, T)", "embed", 3), "Received: 3"),
        (("(B, T)", "an operation that does not end " * 3, "(B, T, D)"), "must fit into a row"),
    ],
)
def test_what_is_no_strip_is_refused(steps, message):
    with pytest.raises(ValueError, match=message):
        draw_shapes(*steps)


# === Masks ===


def grid_rectangle(group):
    edges = np.array([rectangle(rect) for rect in group])
    return *edges.min(axis=0)[:2], *edges.max(axis=0)[2:]


def drawn_mask(part):
    """The mask that a picture shows, from the places and colours of its squares."""
    (group,) = [g for g in parsed(draw_mask_choice()).iter(f"{SVG}g") if g.get("data-part") == part]
    places = [rectangle(rect)[1::-1] for rect in group]
    rows, columns = (sorted(set(values)) for values in zip(*places, strict=True))
    mask = np.zeros((len(rows), len(columns)), dtype=bool)
    for (y, x), rect in zip(places, group, strict=True):
        mask[rows.index(y), columns.index(x)] = rect.get("fill") == LIT
    return mask


def tensor(*rows):
    return ops.convert_to_tensor(np.array(rows, dtype="int32"))


@pytest.mark.parametrize(
    ("suffix", "source", "target"),
    [
        ("", masks.SOURCE, masks.TARGET),
        ("_packed", masks.PACKED_SOURCE, masks.PACKED_TARGET),
    ],
)
def test_masks_are_those_of_the_layers(suffix, source, target):
    source, target = tensor(source), tensor(target)
    expected = dict(
        zip(("decoder", "cross"), layers.make_decoder_masks(target, source), strict=True)
    )
    expected["encoder"] = layers.make_attention_mask(source, source)
    for name, mask in expected.items():
        assert np.array_equal(drawn_mask(name + suffix), ops.convert_to_numpy(mask)[0])


def test_step_by_step_masks_are_those_of_the_cache():
    memory_mask = ops.expand_dims(ops.not_equal(tensor(masks.SOURCE), 0), axis=1)
    for name, num_beams in (("decoder_step", 1), ("decoder_beams", 2)):
        cache = DecoderCache.empty([], memory_mask, num_beams, length=4)
        for index, beams in enumerate(([0, 0], [0, 0], [0, 1], None)):
            cache, mask = cache.append_slots(num_beams, index)
            if beams:
                cache = cache.reorder(tensor(beams[:num_beams]))
        mask = ops.convert_to_numpy(mask)[0]
        assert np.array_equal(drawn_mask(name), mask[:, : 4 * num_beams])
    assert np.array_equal(drawn_mask("cross_step"), ops.convert_to_numpy(memory_mask)[0])
