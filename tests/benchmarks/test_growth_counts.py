from aiayn_keras import TransformerBackbone
from benchmarks.growth.counts import cache_bytes


def test_the_cache_grows_with_the_decoder_alone():
    def size(encoder, decoder):
        backbone = TransformerBackbone(
            19,
            num_heads=2,
            hidden_dim=8,
            intermediate_dim=8,
            num_encoder_layers=encoder,
            num_decoder_layers=decoder,
        )
        return cache_bytes(backbone, num_beams=3, source_length=5, target_length=7)

    layer = (2 * 2 * 4) * (5 + 3 * 9) * 4  # keys and values of all positions, 4 bytes each
    assert size(2, 1) == size(1, 1)
    assert size(1, 2) - size(1, 1) == layer
