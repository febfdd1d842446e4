import numpy as np

from aiayn_keras.export.served_weights import SharedTables


def test_the_graph_holds_the_position_table_once(model, exported):
    table = np.asarray(model.backbone.encoder_embedding.table)
    assert (exported / "saved_model.pb").read_bytes().count(table.tobytes()) == 1


def test_the_layers_have_their_own_tables_again(model):
    embeddings = (model.backbone.encoder_embedding, model.backbone.decoder_embedding)
    own = [each.table for each in embeddings]
    tables = SharedTables(model)
    with tables.scope():
        encoder, decoder = (each.table for each in embeddings)
        assert encoder is decoder is not own[0]
        np.testing.assert_array_equal(encoder, own[0])
    assert all(each.table is table for each, table in zip(embeddings, own, strict=True))
