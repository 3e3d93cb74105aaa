"""Preset, then file, then flags; anything else is one sentence."""

import operator
import re
import string

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from twincl.config import PRESETS, Config, build_config, explained, merge, parse_assignments, to_yaml, valid_keys
from twincl.errors import InputError


@pytest.fixture
def write(tmp_path):
    def file(text: str):
        path = tmp_path / "config.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return file


def refusal(**options) -> str:
    with pytest.raises(InputError) as error:
        build_config(**{"settings": {}} | options)
    message = str(error.value)
    assert message
    assert "\n" not in message
    return message


def test_flags_beat_the_file_and_the_file_beats_the_preset(write):
    file = write("preset: paper\noptim: {epochs: 7, lr_base: 0.5}\nmodel: {name: resnet18}\n")
    config = build_config(file=file, settings={"optim.epochs": 3})
    assert config.preset == "paper"
    assert config.optim.epochs == 3, "flag"
    assert config.optim.lr_base == 0.5, "file"
    assert config.model.name == "resnet18", "file"
    assert config.optim.warmup_epochs == 20, "preset"
    assert config.optim.momentum == Config().optim.momentum, "default"
    assert build_config(file=file, settings={"model.name": None}).model.name is None, "a flag can take back"


def test_a_preset_named_as_a_setting_is_applied(write):
    config = build_config(settings={"preset": "paper"})
    assert config == build_config(preset="paper", settings={})
    assert config.optim.epochs == 200


def test_a_file_of_one_preset_is_not_passed_off_as_another(write):
    """Its values would win, and the run would be recorded as what it is not."""
    file = write(explained(build_config(settings={})))
    assert build_config(file=file, preset="default", settings={}) == build_config(settings={})
    for asked in ({"preset": "paper"}, {"settings": {"preset": "paper"}}):
        message = refusal(file=file, **asked)
        assert "was written for the preset 'default'" in message
        assert "'paper'" in message


def test_a_section_is_no_setting():
    message = refusal(settings={"data": {"holdout": 0.5}})
    assert "'data' is a section" in message
    assert "data.path" in message


def test_a_mistyped_setting_is_answered_with_those_of_its_section():
    message = refusal(settings={"tcl.zzz": 1})
    assert "tcl.tau" in message
    assert "optim." not in message


@pytest.mark.parametrize("name", PRESETS)
def test_what_is_explained_reads_back_as_the_same(name, write):
    config = build_config(preset=name, settings={})
    text = explained(config)
    assert build_config(file=write(text), settings={}) == config
    assert re.search(r"^  tau: 0.25  # temperature of the contrastive loss", text, re.MULTILINE)
    assert re.search(
        r"^  lr_scaling: \w+  # how the rate follows the batch size; one of linear, sqrt$", text, re.MULTILINE
    )
    assert re.search(r"^amp: \w+  # true: bfloat16, false: float32; null: the faster, measured$", text, re.MULTILINE)
    bare = [line for line in text.splitlines() if "#" not in line and not line.startswith("-") and "  - " not in line]
    assert [line.rstrip(":") for line in bare] == [
        "data",
        "noise",
        "model",
        "augment",
        "optim",
        "tcl",
        "mixup",
        "finetune",
    ]


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_builds_and_names_itself(name):
    config = build_config(preset=name, settings={})
    assert config.preset == name
    for key, value in _flat(PRESETS[name]).items():
        assert operator.attrgetter(key)(config) == value


def test_presets_say_what_paper_and_code_do():
    paper, official = (build_config(preset=name, settings={}) for name in ("paper", "official"))
    assert (paper.amp, official.amp, Config().amp) == (False, False, None)
    assert (paper.optim.cosine_span, official.optim.cosine_span) == ("remaining", "total")
    assert (paper.model.feat_dim, official.model.feat_dim) == (128, 256)
    assert (paper.tcl.sigma, official.tcl.sigma) == ("per_class_eq6", "tau")
    assert (paper.tcl.label_scale_cross, official.tcl.label_scale_cross) == ("none", "clean_fraction")
    four = build_config(preset="official-4gpu", settings={})
    assert (four.optim.batch_size, four.tcl.weight_contrast) == (1024, 0.25)
    hundred = build_config(preset="official-c100", settings={})
    assert (hundred.tcl.gmm_scope, hundred.tcl.label_scale_mix) == ("per_class", "none")


def test_presets_of_real_noise_say_what_the_paper_does():
    web, clothing = (build_config(preset=name, settings={}) for name in ("webvision", "clothing1m"))
    assert (web.model.name, clothing.model.name) == ("resnet18", "resnet50")
    assert (web.optim.epochs, web.optim.warmup_epochs, web.optim.lr_base, web.data.max_classes) == (130, 10, 0.03, 50)
    assert (clothing.optim.epochs, clothing.optim.warmup_epochs, clothing.optim.lr_base) == (40, 0, 0.01)
    assert (clothing.optim.steps_per_epoch, clothing.optim.batch_size, clothing.optim.estep) == (256, 256, "sample")
    assert web.tcl == clothing.tcl == build_config(preset="paper", settings={}).tcl


@pytest.mark.parametrize("name", PRESETS)
def test_yaml_round_trip(name, write):
    changes = {"augment.mean": [0.1, 0.2, 1 / 3], "data.path": "Äpfel: #1 'x'", "optim.lr": 1.5e-8, "data.limit": None}
    config = build_config(preset=name, settings=changes)
    assert build_config(file=write(to_yaml(config)), settings={}) == config


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("optim.epoch", "did you mean 'optim.epochs'?"),
        ("epochs", "did you mean 'optim.epochs'?"),
        ("tcl.taus", "did you mean 'tcl.tau'?"),
        ("sed", "did you mean 'seed'?"),
        ("zzz", "choose from: method, preset, seed"),
    ],
)
def test_unknown_keys_are_refused_with_the_nearest_name(key, hint, write):
    message = refusal(settings={key: 1})
    assert message.startswith(f"unknown setting '{key}'")
    assert hint in message
    section, _, inner = key.partition(".")
    file = write(yaml.safe_dump({section: {inner: 1}} if inner else {section: 1}))
    message = refusal(file=file)
    assert message.startswith(f"unknown setting '{key}' in {file}")
    assert hint in message


@pytest.mark.parametrize("key", ["", ".", "data.path.x", "data."])
def test_keys_that_are_no_names(key):
    assert refusal(settings={key: 1}).startswith(("unknown setting", "the value"))


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("optim.epochs", 0, "greater than or equal to 1"),
        ("optim.epochs", 1.5, "integer"),
        ("optim.epochs", "many", "integer"),
        ("optim.momentum", None, "number"),
        ("optim.batch_size", 1, "greater than or equal to 2"),
        ("optim.lr", -1, "greater than 0"),
        ("optim.lr", float("nan"), ""),
        ("optim.lr", float("inf"), "finite"),
        ("tcl.tau", float("inf"), "finite"),
        ("tcl.tau", 0, "greater than 0"),
        ("tcl.sigma", "tua", "'tau'"),
        ("tcl.mix_dominant", "perhaps", "boolean"),
        ("noise.rate", 1.5, "less than or equal to 1"),
        ("noise.type", "simmetric", "'symmetric'"),
        ("noise.seed", -1, "greater than or equal to 0"),
        ("augment.name", "natrual", "'natural', 'symbols' or 'features'"),
        ("augment.mean", [float("nan")], "finite"),
        ("augment.mean", 0.5, "tuple"),
        ("data.channels", 2, "1, 3 or 4"),
        ("data.img_size", 2, "greater than or equal to 4"),
        ("data.path", 5, "string"),
        ("model.shortcut", "none", "'activated' or 'identity'"),
        ("seed", -1, "greater than or equal to 0"),
    ],
)
def test_wrong_values_are_one_sentence_that_names_the_setting(key, value, reason):
    message = refusal(settings={key: value})
    assert f"of {key} cannot be used" in message
    assert reason in message


@pytest.mark.parametrize(
    ("text", "key", "reason"),
    [
        ("data: 5", "data", "DataSettings"),
        ("tcl: [1]", "tcl", "TCLSettings"),
        ("optim: null", "optim", "OptimSettings"),
    ],
)
def test_a_section_of_a_file_that_is_none_is_named(text, key, reason, write):
    message = refusal(file=write(text))
    assert f"of {key} cannot be used" in message
    assert reason in message


def test_a_huge_value_does_not_make_a_huge_message():
    assert len(refusal(settings={"data.path": list(range(100_000))})) < 200


def test_unknown_presets():
    assert "did you mean 'paper'?" in refusal(preset="papre")
    assert "unknown preset" in refusal(settings={"preset": ["paper"]})


def test_files_that_are_no_configuration(write, tmp_path):
    assert "cannot be read" in refusal(file=tmp_path / "none.yaml")
    assert "cannot be read" in refusal(file=tmp_path)
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    assert "cannot be read" in refusal(file=tmp_path / "binary.yaml")
    for text in ("a: [", "- 1", "42", "!!python/object/apply:os.system [ls]", "a: 2020-13-45", "!!bool x", "[" * 3000):
        assert "config.yaml" in refusal(file=write(text))
    assert build_config(file=write(""), settings={}) == Config()
    assert build_config(file=write("# nothing\n"), settings={}) == Config()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-3", 0.001),
        ("1E5", 100000.0),
        ("0.1", 0.1),
        ("3", 3),
        ("true", True),
        ("null", None),
        ("", None),
        ("[0.1, 0.2]", [0.1, 0.2]),
        ("natural", "natural"),
        ("a=b", "a=b"),
        ("path with space", "path with space"),
        ("'5'", 5.0),
    ],
)
def test_assignments(text, value):
    assert parse_assignments([f"optim.lr={text}"]) == {"optim.lr": value}


def test_assignments_reach_the_configuration():
    given = parse_assignments(["optim.weight_decay=1e-4", " optim.lr = 1e-3", "augment.mean=[1e-1,.2,3e-1]", "amp=no"])
    config = build_config(settings=given)
    assert config.optim.weight_decay == 1e-4
    assert config.optim.lr == 1e-3
    assert config.augment.mean == (0.1, 0.2, 0.3)
    assert config.amp is False
    assert parse_assignments(["seed=1", "seed=2"]) == {"seed": 2}, "the last counts"


@pytest.mark.parametrize("assignment", ["optim.lr", "optim.lr:3", "x=[", "x=2020-13-45", "x=!!bool y", "x={a: b: c}"])
def test_assignments_that_cannot_be_read(assignment):
    with pytest.raises(InputError) as error:
        parse_assignments([assignment])
    assert assignment in str(error.value)


def test_every_key_is_a_setting():
    keys = valid_keys()
    assert len(keys) == len(set(keys))
    assert set(_flat(Config().model_dump())) == set(keys)


def test_merge_changes_neither_side():
    base, over = {"a": {"b": 1, "c": 2}}, {"a": {"b": 3}, "d": 4}
    assert merge(base, over) == {"a": {"b": 3, "c": 2}, "d": 4}
    assert (base, over) == ({"a": {"b": 1, "c": 2}}, {"a": {"b": 3}, "d": 4})


def _flat(nested: dict) -> dict:
    return {
        (f"{key}.{inner}" if inner else key): deep
        for key, value in nested.items()
        for inner, deep in (value.items() if isinstance(value, dict) else [("", value)])
    }


scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8), st.dates())
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(scalars, inner, max_size=3))
sections = st.sampled_from(sorted({key.partition(".")[0] for key in valid_keys()}))
fields = st.sampled_from(sorted({key.rpartition(".")[2] for key in valid_keys()}))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(sections | scalars, values | st.dictionaries(fields | scalars, values, max_size=3), max_size=4))
def test_any_structure_is_a_configuration_or_an_input_error(tmp_path, content):
    file = tmp_path / "fuzz.yaml"
    file.write_text(yaml.safe_dump(content, allow_unicode=True), encoding="utf-8")
    _configuration_or_input_error(file)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.text(
        st.sampled_from("optimdapreset:{}[]&*!?-#|>%@'\",. \n\t019_xeE~=<" + string.ascii_lowercase[:6]), max_size=60
    )
)
def test_any_text_is_a_configuration_or_an_input_error(tmp_path, text):
    file = tmp_path / "fuzz.yaml"
    file.write_text(text, encoding="utf-8")
    _configuration_or_input_error(file)


def _configuration_or_input_error(file) -> None:
    try:
        config = build_config(file=file, settings={})
    except InputError:
        return
    assert build_config(settings=_flat(config.model_dump())) == config
