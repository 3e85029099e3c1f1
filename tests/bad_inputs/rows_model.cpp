// Models: names, kinds, inputs and shapes, each at its place in m.toml.
#include "row.hpp"

namespace {

Row model(const std::string& name, const std::string& layers, const std::string& place,
          std::vector<std::string> words) {
  words.insert(words.begin(), "m.toml:" + place);
  return {name,
          {{"m.toml", "input = { shape = [1, 28, 28] }\n" + layers},
           {"bad.toml", "[model]\nfile = \"m.toml\"\n[data]\nbatch_size = 8\n"}},
          "train bad.toml --dry-run",
          2,
          std::move(words)};
}

// A model that reads six tokens of a vocabulary of ten.
Row of_tokens(const std::string& name, const std::string& layer, const std::string& place,
              std::vector<std::string> words) {
  Row row = model(name, "", place, std::move(words));
  row.files[0].bytes =
      "input = { tokens = 6, vocabulary = 10 }\n[[layers]]\nname = 'e'\nkind = "
      "'embedding'\nembedding_dim = 4\n[[layers]]\nname = 'a'\n" +
      layer;
  return row;
}

const std::string flat = "[[layers]]\nname = 'f'\nkind = 'flatten'\n";
const std::string fc = "[[layers]]\nname = 'fc'\nkind = 'linear'\nout_features = 10\n";

}  // namespace

std::vector<Row> model_rows() {
  return {
      {"a model file that is not there",
       {{"bad.toml", "[model]\nfile = \"none.toml\"\n"}},
       "train bad.toml",
       2,
       {"bad.toml:2:8: model.file = ", "none.toml", "No such file"}},
      {"a folder for a model file",
       {{"bad.toml", "[model]\nfile = \"folder\"\n"}, {"folder/", ""}},
       "train bad.toml",
       2,
       {"bad.toml:2:8: model.file = ", "folder", "it is a folder"}},
      {"a model file that is a link to itself",
       {{"bad.toml", "[model]\nfile = \"loop.toml\"\n"}},
       "train bad.toml",
       2,
       {"bad.toml:2:8", "loop.toml", "symbolic links"},
       false,
       "ln -s loop.toml loop.toml; "},
      {"a model file without an end",
       {},
       "train base.toml --set model.file=/dev/zero",
       2,
       {"--set model.file", "/dev/zero", "it is not a regular file"},
       true},
      {"a model file that is empty",
       {{"bad.toml", "[model]\nfile = \"m.toml\"\n"}, {"m.toml", ""}},
       "train bad.toml",
       2,
       {"m.toml:1:1", "no input", "no layers"}},
      {"a model file that is written like a config",
       {{"bad.toml", "[model]\nfile = \"m.toml\"\n"},
        {"m.toml", "[model]\nname = \"m\"\n[[model.layers]]\nname = \"f\"\n"}},
       "train bad.toml",
       2,
       {"m.toml:1:2: a model file has its keys at the top", "remove [model]"}},
      {"a model file that is binary",
       {{"bad.toml", "[model]\nfile = \"images.idx\"\n"}},
       "train bad.toml",
       2,
       {"images.idx:1:1", "TOML"}},
      {"a model in two places",
       {{"bad.toml", "[model]\nfile = \"m.toml\"\nlayers = []\n"}},
       "train bad.toml",
       2,
       {"bad.toml:3:1", "model.file are both given"}},
      model("a model of no TOML", "[[layers]\nname = 'a'\n", "2:10", {"not valid TOML"}),
      model("a name taken twice", flat + "[[layers]]\nname = 'f'\nkind = 'relu'\n", "6:8",
            {"'f' is taken at line 3"}),
      model("an unknown input", flat + fc + "inputs = ['flat']\n", "9:10",
            {"'fc' reads 'flat'", "no such layer"}),
      model("an unknown input near a known one",
            "[[layers]]\nname = 'flatten'\nkind = 'flatten'\n" + fc + "inputs = ['flaten']\n",
            "9:10", {"did you mean 'flatten'?"}),
      model("a cycle of one", flat + fc + "inputs = ['fc']\n", "9:10",
            {"reads 'fc', which is not above it"}),
      model("a cycle of two",
            "[[layers]]\nname = 'a'\nkind = 'add'\ninputs = ['input', 'b']\n[[layers]]\nname = "
            "'b'\nkind = 'relu'\ninputs = ['a']\n" +
                flat + fc,
            "5:10", {"'a' reads 'b'", "change the order"}),
      model("a layer that nobody reads",
            "[[layers]]\nname = 'a'\nkind = 'relu'\n[[layers]]\nname = 'f'\nkind = "
            "'flatten'\ninputs = ['input']\n" +
                fc,
            "2:1", {"no layer reads layer 'a'"}),
      model("an unknown kind", "[[layers]]\nname = 'c'\nkind = 'conv3d'\n", "4:8",
            {"no kind 'conv3d'", "did you mean 'conv2d'?"}),
      model("a layer without a kind", "[[layers]]\nname = 'c'\n", "2:1", {"'c' has no kind"}),
      model("a layer without a size", "[[layers]]\nname = 'c'\nkind = 'conv2d'\n", "2:1",
            {"'c' needs out_channels and kernel"}),
      model("a layer's unknown key",
            "[[layers]]\nname = 'p'\nkind = 'max_pool'\nkernel = 2\nstrid = 2\n", "6:1",
            {"no key 'strid'", "did you mean 'stride'?"}),
      model("a size of 0", flat + "[[layers]]\nname = 'fc'\nkind = 'linear'\nout_features = 0\n",
            "8:16", {"out_features is 0", "from 1 to 2147483647"}),
      model("a size beyond 2^31",
            flat + "[[layers]]\nname = 'fc'\nkind = 'linear'\nout_features = 2147483648\n", "8:16",
            {"from 1 to 2147483647"}),
      model("shapes of a sum that differ",
            "[[layers]]\nname = 'c'\nkind = 'conv2d'\nout_channels = 2\nkernel = "
            "3\n[[layers]]\nname = 's'\nkind = 'add'\ninputs = ['c', 'input']\n" +
                flat + fc,
            "7:1", {"'c' [2, 26, 26]", "'input' [1, 28, 28]", "must be equal"}),
      model("a linear layer on an image", fc, "2:1",
            {"linear 'fc' cannot read 'input' [1, 28, 28]", "add a flatten"}),
      model("a convolution on a vector",
            flat + "[[layers]]\nname = 'c'\nkind = 'conv2d'\nout_channels = 2\nkernel = 3\n", "5:1",
            {"conv2d 'c' cannot read 'f' [784]", "before the flatten"}),
      model("a kernel larger than its image",
            "[[layers]]\nname = 'c'\nkind = 'conv2d'\nout_channels = 2\nkernel = 31\n" + flat + fc,
            "2:1", {"kernel of 31", "height of 28"}),
      model("a pooling window larger than its image",
            "[[layers]]\nname = 'p'\nkind = 'max_pool'\nkernel = [2, 29]\n" + flat + fc, "2:1",
            {"kernel of 29", "width of 28"}),
      model("a kind that would move the cursor", "[[layers]]\nname = 'p'\nkind = \"\\u001b[31m\"\n",
            "4:8", {"no kind '\\u001b[31m'"}),
      model("a loss that is not there", "loss = 'hinge'\n" + flat + fc, "2:8",
            {"no loss 'hinge'", "cross_entropy"}),
      model("a loss that the output does not fit", "[[layers]]\nname = 'r'\nkind = 'relu'\n", "2:1",
            {"cross_entropy needs a [classes] or [T, classes] output", "'r' makes [1, 28, 28]"}),
      of_tokens("an lstm of both directions that is reversed",
                "kind = 'lstm'\nhidden_size = 4\nreverse = true\nbidirectional = true\n", "6:1",
                {"lstm 'a'", "leave one of them out"}),
      of_tokens("an lstm without its size", "kind = 'lstm'\n", "6:1", {"'a' needs hidden_size"}),
      of_tokens("an lstm with padding and no tokens",
                "kind = 'lstm'\nhidden_size = 4\npadding = 0\n", "6:1",
                {"lstm 'a'", "it needs the sequence's tokens too"}),
      of_tokens("additive attention of one input", "kind = 'additive_attention'\n", "6:1",
                {"additive_attention 'a'", "queries [T, N], keys [S, N] and values [S, C]"}),
      of_tokens(
          "additive attention to a padding that is no token",
          "kind = 'gelu'\n[[layers]]\nname = 'b'\nkind = 'relu'\n[[layers]]\nname = 'c'\nkind = "
          "'additive_attention'\npadding = 10\ninputs = ['e', 'a', 'b', 'input']\n",
          "12:1", {"padding = 10 is not one of the 10 tokens"}),
      model("a block that is not there",
            "[[layers]]\nname = 'b'\nblock = 'residul'\n[blocks.residual]\nlayers = [{ name = 'r', "
            "kind = 'relu' }]\n",
            "4:9", {"no block 'residul'", "did you mean 'residual'?"}),
      model("a block in itself",
            "[[layers]]\nname = 'b'\nblock = 'x'\n[blocks.x]\nlayers = [{ name = 'r', block = 'x' "
            "}]\n",
            "6:", {"contains itself"}),
      model("a block repeated without end",
            "[[layers]]\nname = 'b'\nblock = 'x'\nrepeat = 2000000000\n[blocks.x]\nlayers = [{ "
            "name = 'r', kind = 'relu' }]\n",
            "5:10", {"repeat = 2000000000", "more than 10000 layers"}),
      {"a layer of terabytes",
       {{"m.toml", "input = { shape = [1, 28, 28] }\n" + flat +
                       "[[layers]]\nname = 'big'\nkind = 'linear'\nout_features = 2147483647\n" +
                       fc},
        {"bad.toml", "[model]\nfile = \"m.toml\"\n[data]\nbatch_size = 8\n"}},
       "train bad.toml --dry-run",
       2,
       {"m.toml:5:1", "'big'"},
       true},
      {"an inline model at its line in the config",
       {{"bad.toml",
         "[data]\nbatch_size = 8\n[model]\ninput = { shape = [1, 28, 28] }\n[[model.layers]]\nname "
         "= 'fc'\nkind = 'linear'\nout_features = 10\n"}},
       "train bad.toml",
       2,
       {"bad.toml:5:", "'fc' cannot read 'input'"}},
      {"an input that is no shape",
       {{"m.toml", "input = { shape = [1, -28, 28] }\n" + flat + fc},
        {"bad.toml", "[model]\nfile = \"m.toml\"\n"}},
       "train bad.toml",
       2,
       {"m.toml:1:", "[channels, height, width]"}},
      model("a layer tied to one that is not there",
            flat + fc + "[[layers]]\nname = 'g'\nkind = 'linear'\nout_features = 10\ntied = 'fd'\n",
            "13:8", {"linear 'g' is tied to 'fd'", "did you mean 'fc'"}),
      model("a layer tied to a weight of another shape",
            flat + fc + "[[layers]]\nname = 'g'\nkind = 'linear'\nout_features = 9\ntied = 'fc'\n",
            "13:8", {"a weight of [10, 784]", "its own weight is [9, 10]"}),
  };
}
