// Models that are wrong: what is said, and where.
#include <string>
#include <vector>

#include "base/error.hpp"
#include "catch.hpp"
#include "graph/graph.hpp"
#include "graph/read.hpp"

using namespace pipetrain;

namespace {

std::string error_of(const std::string& toml) {
  try {
    read_model_text(toml, "m.toml");
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

struct Case {
  const char* layers;    // from line 2 on
  const char* position;  // line:column
  const char* what;
};

}  // namespace

TEST_CASE("each mistake is named with its place") {
  const std::vector<Case> cases = {
      {"[[layers]]\nname='a'\nkind='conv3d'", "4:6",
       "there is no kind 'conv3d'; did you mean 'conv2d'?"},
      {"[[layers]]\nname='a'\nkind='softplus'", "4:6", "write one of linear, conv2d"},
      {"[[layers]]\nname='a'", "2:1", "layer 'a' has no kind"},
      {"[[layers]]\nkind='relu'", "2:1", "needs name"},
      {"[[layers]]\nname='a'\nkind='conv2d'", "2:1", "conv2d 'a' needs out_channels and kernel"},
      {"[[layers]]\nname='a'\nkind='relu'\nkernl=3", "5:1",
       "relu 'a' has no key 'kernl'; its keys are"},
      {"[[layers]]\nname='a'\nkind='max_pool'\nkernel=2\nstrid=2", "6:1", "did you mean 'stride'?"},
      {"[[layers]]\nname='a'\nkind='max_pool'\nkernel=0", "5:8",
       "kernel is 0; write a whole number from 1"},
      {"[[layers]]\nname='a'\nkind='max_pool'\nkernel=[2,2,2]", "5:8", "two as [height, width]"},
      {"[[layers]]\nname='a'\nkind='max_pool'\nkernel=[2,-1]", "5:11", "kernel is -1"},
      {"[[layers]]\nname='a'\nkind='max_pool'\nkernel='3'", "5:8", "kernel is \"3\""},
      {"[[layers]]\nname='a'\nkind='max_pool'\nkernel=2.5", "5:8", "kernel is 2.5"},
      {"[[layers]]\nname='a'\nkind='conv2d'\nout_channels=3000000000\nkernel=1", "5:14",
       "to 2147483647"},
      {"[[layers]]\nname='a'\nkind='conv2d'\nout_channels=4\nkernel=1\nbias=1", "7:6",
       "write true or false"},
      {"[[layers]]\nname='a'\nkind='dropout'\np=1.0", "5:3",
       "p is 1; write a number at least 0 and below 1"},
      {"[[layers]]\nname='a'\nkind='dropout'\np=-0.1", "5:3", "p is -0.1"},
      {"[[layers]]\nname='a'\nkind='dropout'\np=nan", "5:3", "at least 0"},
      {"[[layers]]\nname='a'\nkind='batch_norm'\neps=0", "5:5", "a number at least 1e-30"},
      {"[[layers]]\nname='a'\nkind='batch_norm'\neps=inf", "5:5", "a number at least 1e-30"},
      {"[[layers]]\nname='a'\nkind='layer_norm'\neps=1e-50", "5:5", "a number at least 1e-30"},
      {"[[layers]]\nname='a'\nkind='batch_norm'\nmomentum=1.5", "5:10", "from 0 to 1"},
      {"[[layers]]\nname='a'\nkind='relu'\n[[layers]]\nname='a'\nkind='relu'", "6:6",
       "the name 'a' is taken at line 3"},
      {"[[layers]]\nname='a b'\nkind='relu'", "3:6", "'a b' cannot be a layer's name"},
      {"[[layers]]\nname='input'\nkind='relu'", "3:6", "'input' cannot be a layer's name"},
      {"[[layers]]\nname='.a'\nkind='relu'", "3:6", "cannot be a layer's name"},
      {"[[layers]]\nname=''\nkind='relu'", "3:6", "name is \"\""},
      {"[[layers]]\nname='conv'\nkind='relu'\n[[layers]]\nname='b'\nkind='relu'\ninputs=['cnv']",
       "8:8", "relu 'b' reads 'cnv', but there is no such layer; did you mean 'conv'?"},
      {"[[layers]]\nname='a'\nkind='relu'\ninputs=['b']\n[[layers]]\nname='b'\nkind='relu'", "5:8",
       "relu 'a' reads 'b', which is not above it"},
      {"[[layers]]\nname='a'\nkind='relu'\ninputs=['a']", "5:8",
       "reads 'a', which is not above it"},
      {"[[layers]]\nname='a'\nkind='relu'\ninputs='input'", "5:8", "a list of names"},
      {"[[layers]]\nname='a'\nkind='relu'\ninputs=[]", "5:8", "a list of names"},
      {"[[layers]]\nname='a'\nkind='relu'\ninputs=[1]", "5:8", "a list of names"},
      {"[[layers]]\nname='a'\nkind='add'\ninputs=['input','input']", "5:8", "reads 'input' twice"},
      {"[[layers]]\nname='a'\nkind='add'", "2:1", "it needs two inputs or more"},
      {"[[layers]]\nname='a'\nkind='relu'\n[[layers]]\nname='b'\nkind='relu'\ninputs=['input']",
       "2:1", "no layer reads layer 'a'"},
      {"[[layers]]\nname='c'\nkind='conv2d'\nout_channels=2\nkernel=3\n[[layers]]\nname='s'\nkind='"
       "add'\ninputs=['c','input']",
       "7:1", "add 's' cannot read 'c' [2, 6, 6] and 'input' [4, 8, 8]: the shapes must be equal"},
      {"[[layers]]\nname='a'\nkind='relu'\n[[layers]]\nname='fc'\nkind='linear'\nout_features=2",
       "5:1",
       "linear 'fc' cannot read 'a' [4, 8, 8]: it needs a [features] or [T, features] input; add a "
       "flatten"},
      {"[[layers]]\nname='a'\nkind='conv2d'\nout_channels=2\nkernel=9", "2:1",
       "cannot read 'input' [4, 8, 8]: its kernel of 9"},
      {"[[layers]]\nname='a'\nkind='conv2d'\nout_channels=6\nkernel=1\ngroups=3", "2:1",
       "divisible by groups = 3"},
      {"[[layers]]\nname='a'\nkind='relu'\n[[layers]]\nname='z'\nkind='flatten'\n[blocks.b]"
       "\nlayers=[]",
       "8:9", "no layer uses block 'b'"},
      {"[[layers]]\nname='a'\nblock='b'\n[blocks.b]\nlayers=[]", "5:9", "block 'b' has no layers"},
      {"[[layers]]\nname='a'\nblock='bsic'\n[blocks.basic]\nlayers=[{name='r',kind='relu'}]", "4:7",
       "did you mean 'basic'?"},
      {"[[layers]]\nname='a'\nblock='b'\n[blocks.b]\nlayers=[{name='d',kind='dropout',p='$rate'}]",
       "2:1", "block 'b' needs rate"},
      {"[[layers]]\nname='a'\nblock='b'\nwith={rat=0.1}\n[blocks.b]\nlayers=[{name='d',kind='"
       "dropout',p='$rate'}]",
       "5:7", "has no parameter 'rat'; did you mean 'rate'?"},
      {"[[layers]]\nname='a'\nblock='b'\nwith={rate=7}\n[blocks.b]\nlayers=[{name='d',kind='"
       "dropout',p='$rate'}]",
       "5:12", "dropout 'd': p is 7"},
      {"[[layers]]\nname='a'\nblock='b'\nrepeat=0\n[blocks.b]\nlayers=[{name='d',kind='relu'}]",
       "5:8", "repeat is 0"},
      {"[[layers]]\nname='a'\nblock='b'\n[blocks.b]\nlayers=[{name='d',block='b'}]", "6:25",
       "block 'b' contains itself"},
      {"[[layers]]\nname='a'\nblock='b'\n[blocks.b]\nlayers=[{name='d',kind='relu',inputs=['"
       "outside']}]",
       "6:38", "no such layer in block 'b'"},
      {"[[layers]]\nname='a'\nkind='dropout'\np='$rate'", "5:3",
       "\"$rate\" is for layers in a block"},
      {"[[layers]]\nname='a'\nblock='b'\nrepeat=20000\n[blocks.b]\nlayers=[{name='d',kind='relu'}]",
       "5:8", "repeat = 20000 makes more than 10000 layers"},
      {"[[layers]]\nname='a'\nblock='b'\nrepeat=200\n[blocks.b]\nlayers=[{name='d',block='c',"
       "repeat="
       "100}]\n[blocks.c]\nlayers=[{name='e',kind='relu'}]",
       "7:9", "more than 10000 layers"},
      {"layers=[3]", "2:9", "is 3; write a table"},
      {"loss='mse '\n[[layers]]\nname='a'\nkind='relu'", "2:6", "did you mean 'mse'?"},
      {"label_smoothing=1\n[[layers]]\nname='a'\nkind='flatten'", "2:17",
       "label_smoothing is 1; write a number at least 0 and below 1"},
      {"label_smoothing=0.1\nloss='mse'\n[[layers]]\nname='a'\nkind='flatten'", "2:17",
       "label_smoothing is for labels"},
      {"[[layers]]\nname='a'\nkind='relu'", "2:1",
       "cross_entropy needs a [classes] or [T, classes] output of two or more, but the last layer "
       "'a' makes [4, 8, "
       "8]"},
      {"[[layer]]\nname='a'", "2:3", "has no key 'layer'; did you mean 'layers'?"},
      {"layers=[]", "1:1", "the model has no layers"},
      {"[[layers]\nname='a'", "2:10", "this is not valid TOML"},
  };
  for (const Case& c : cases) {
    const std::string error = error_of(std::string("input = { shape = [4, 8, 8] }\n") + c.layers);
    INFO(c.layers << "\n-> " << error);
    CHECK(contains(error, std::string("m.toml:") + c.position + ": "));
    CHECK(contains(error, c.what));
  }
}

TEST_CASE("a misspelt key is one problem, and not a missing one too") {
  const std::string input = "input = { shape = [4] }\n", layer = "[[layers]]\nname = 'a'\n";
  const std::string linear = layer + "kind = 'linear'\nout_features = 2\n";
  for (const std::string& model :
       {input + layer + "kind = 'linear'\nout_feature = 2\n",
        input + "[[layer]]\nname = 'a'\n[[blocks.b.layers]]\nname = 'c'\nkind = 'relu'\n",
        input + "[[layers]]\nnam = 'a'\nkind = 'linear'\nout_features = 2\n",
        input + layer + "block = 'b'\n[[block.b.layers]]\nname = 'c'\nkind = 'relu'\n",
        "inptu = { shape = [4] }\n" + linear, "input = { shap = [4] }\n" + linear}) {
    const std::string error = error_of(model);
    INFO(model << "\n-> " << error);
    CHECK(contains(error, "did you mean"));
    CHECK_FALSE(contains(error, "\n"));
  }
}

TEST_CASE("a model's input is checked") {
  const std::string layers = "\n[[layers]]\nname='a'\nkind='flatten'\n";
  const auto with = [&](const std::string& input) { return error_of(input + layers); };
  CHECK(with("input={shape=[4]}") == "no error");
  CHECK(contains(with(""), "m.toml:1:1: the model has no input"));
  CHECK(contains(with("input={shape=[1,1,28,28]}"), "m.toml:1:14: input's shape must be"));
  CHECK(contains(with("input={shape=[1,0,28]}"), "m.toml:1:14: input's shape must be"));
  CHECK(contains(with("input={shape=[1,2.5,28]}"), "input's shape must be"));
  CHECK(contains(with("input={shape=[2000000000,2000000000,2000000000]}"), "shape must be"));
  CHECK(contains(with("input={shap=[4]}"), "did you mean 'shape'?"));
  CHECK(contains(with("input=[4]"), "input is a list of 1"));
  CHECK(contains(with("input={tokens=4,vocabulary=9}"), "these are tokens; put an embedding"));
  CHECK(contains(with("input={tokens=4}"), "input needs vocabulary"));
  CHECK(contains(with("input={tokens=4,vocabulary=1}"), "vocabulary is 1; write a whole number"));
  CHECK(contains(with("input={tokens=4,vocabulary=9,shape=[4]}"), "input has no key 'shape'"));
  CHECK(contains(with("input={tokens=2000000000,vocabulary=2000000000}"),
                 "too large for any machine"));
}

TEST_CASE("an input of two sides is checked") {
  const std::string embedding = "kind='embedding', embedding_dim=3";
  const auto with = [&](const std::string& input, const std::string& reads) {
    return error_of(input + "\nloss='mse'\nlayers=[{name='s', inputs=['source'], " + embedding +
                    "}, {name='t', inputs=['" + reads + "'], " + embedding +
                    "}, {name='sum', kind='add', inputs=['s', 't']}]\n");
  };
  const std::string right = "input={source=4,target=4,vocabulary=9}";
  CHECK(with(right, "target") == "no error");
  CHECK(contains(with(right, "source"), "m.toml:1:7: no layer reads layer 'target'"));
  CHECK(contains(with(right, "targe"), "did you mean 'target'?"));
  CHECK(contains(with("input={source=4,vocabulary=9}", "target"), "input needs target"));
  CHECK(contains(with("input={source=4,target=4}", "target"), "input needs vocabulary"));
  CHECK(contains(with("input={source=4,target=0,vocabulary=9}", "target"), "target is 0; write"));
  CHECK(contains(with("input={source=4,target=4,tokens=8,vocabulary=9}", "target"),
                 "input has no key 'tokens'"));
  CHECK(contains(with("input={source=4,target=2000000000,vocabulary=9}", "target"),
                 "too large for any machine"));
  CHECK(contains(with("input={source=4,target=5,vocabulary=9}", "target"),
                 "cannot read 's' [4, 3] and 't' [5, 3]"));
  CHECK(contains(error_of(right + "\nlayers=[{name='source', " + embedding + "}]"),
                 "the name 'source' is taken at line 1"));
}

TEST_CASE("an embedding's scale is above 0") {
  const auto with = [&](const std::string& keys) {
    return error_of(
        "input={tokens=4,vocabulary=9}\nloss='mse'\n[[layers]]\nname='e'\nkind='embedding'\n"
        "embedding_dim=6\n" +
        keys);
  };
  CHECK(with("scale=16.0") == "no error");
  for (const char* const scale : {"0", "-1.5", "nan"})
    CHECK(contains(with("scale=" + std::string(scale)),
                   "m.toml:7:7: embedding 'e': scale is " + std::string(scale)));
}

TEST_CASE("attention names the inputs that do not fit") {
  const auto with = [&](const std::string& keys) {
    return error_of(
        "input={tokens=4,vocabulary=9}\n[[layers]]\nname='e'\nkind='embedding'\nembedding_dim=6\n"
        "[[layers]]\nname='a'\nkind='attention'\nheads=1\n" +
        keys);
  };
  CHECK(with("padding=0\ninputs=['e','input']") == "no error");
  CHECK(contains(with("inputs=['e','input']"),
                 "m.toml:6:1: attention 'a' cannot read 'e' [4, 6] and 'input' [4] tokens of 9: it "
                 "has tokens but no padding"));
  CHECK(contains(with("padding=0"), "attention 'a' cannot read 'e' [4, 6]: with padding = 0"));
  CHECK(
      contains(with("padding=9\ninputs=['e','input']"), "padding = 9 is not one of the 9 tokens"));
  CHECK(contains(with("padding=-1"), "m.toml:10:9: attention 'a': padding is -1; write a whole"));
}

TEST_CASE("all problems of a file are reported at once, in its order, each once") {
  const std::string error = error_of(R"(input = { shape = [1, 0, 28] }
los = "mse"
[blocks.b]
layers = [ { name = "c", kind = "conv2d", out_channels = 2, kernel = 1, strid = 2 } ]
[[layers]]
name = "x"
block = "b"
repeat = 3
[[layers]]
name = "y"
kind = "linaer"
[[layers]]
name = "z"
kind = "linear"
inputs = ["w"]
)");
  std::vector<std::string> places;
  for (std::size_t at = error.find("m.toml:"); at != std::string::npos;
       at = error.find("m.toml:", at + 1))
    places.push_back(error.substr(at + 7, error.find(':', at + 7) - at - 7));
  INFO(error);
  CHECK(places == std::vector<std::string>{"1", "2", "4", "11", "12", "15"});
}

TEST_CASE("a problem is not reported again by the layers after it") {
  const std::string error = error_of(
      "input={shape=[4,8,8]}\n[[layers]]\nname='a'\nkind='linear'\nout_features=2\n"
      "[[layers]]\nname='b'\nkind='linear'\nout_features=2\n");
  CHECK(contains(error, "m.toml:2:1"));
  CHECK_FALSE(contains(error, "m.toml:6:1"));
}
