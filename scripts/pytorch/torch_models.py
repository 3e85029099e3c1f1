"""The vision models of models/*.toml as plain PyTorch modules under torchvision's names, written from the papers."""

from collections import OrderedDict

from torch import nn

# VGG's configuration D: channels of the convolutions, with a pool between groups.
VGG16 = [[64] * 2, [128] * 2, [256] * 3, [512] * 3, [512] * 3]


class Chain(nn.Module):
    """Features, flattened, then a classifier: AlexNet and VGG."""

    def __init__(self, features, classifier):
        super().__init__()
        self.features = features
        self.classifier = classifier

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


def alexnet(dropout=0.5):
    conv, pool = nn.Conv2d, lambda: nn.MaxPool2d(3, 2)
    features = [conv(3, 64, 11, 4, 2), nn.ReLU(), pool(),
                conv(64, 192, 5, 1, 2), nn.ReLU(), pool(),
                conv(192, 384, 3, 1, 1), nn.ReLU(), conv(384, 256, 3, 1, 1), nn.ReLU(),
                conv(256, 256, 3, 1, 1), nn.ReLU(), pool()]
    classifier = [nn.Dropout(dropout), nn.Linear(256 * 6 * 6, 4096), nn.ReLU(),
                  nn.Dropout(dropout), nn.Linear(4096, 4096), nn.ReLU(), nn.Linear(4096, 1000)]
    return Chain(nn.Sequential(*features), nn.Sequential(*classifier))


def vgg_features(batch_norm):
    layers, channels = [], 3
    for group in VGG16:
        for wanted in group:
            norm = [nn.BatchNorm2d(wanted)] if batch_norm else []
            layers += [nn.Conv2d(channels, wanted, 3, padding=1), *norm, nn.ReLU()]
            channels = wanted
        layers.append(nn.MaxPool2d(2))
    return nn.Sequential(*layers)


def vgg16(dropout=0.5):
    classifier = [nn.Linear(512 * 7 * 7, 4096), nn.ReLU(), nn.Dropout(dropout),
                  nn.Linear(4096, 4096), nn.ReLU(), nn.Dropout(dropout), nn.Linear(4096, 1000)]
    return Chain(vgg_features(batch_norm=False), nn.Sequential(*classifier))


def vgg16_32():
    return Chain(vgg_features(batch_norm=True), nn.Linear(512, 10))


def downsample(inputs, outputs, stride):
    """None if the input can be added unchanged."""
    if stride == 1 and inputs == outputs:
        return None
    return nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))


class Basic(nn.Module):
    expansion = 1

    def __init__(self, inputs, channels, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, channels, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.relu = nn.ReLU()
        self.downsample = downsample(inputs, channels, stride)

    def forward(self, x):
        y = self.relu(self.bn1(self.conv1(x)))
        return self.relu(self.bn2(self.conv2(y)) + (self.downsample(x) if self.downsample else x))


class Bottleneck(nn.Module):
    expansion = 4

    def __init__(self, inputs, channels, stride):
        super().__init__()
        outputs = self.expansion * channels
        self.conv1 = nn.Conv2d(inputs, channels, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.conv3 = nn.Conv2d(channels, outputs, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU()
        self.downsample = downsample(inputs, outputs, stride)

    def forward(self, x):
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.relu(self.bn2(self.conv2(y)))
        return self.relu(self.bn3(self.conv3(y)) + (self.downsample(x) if self.downsample else x))


def resnet_stage(block, inputs, channels, blocks, stride):
    outputs = block.expansion * channels
    first = block(inputs, channels, stride)
    return nn.Sequential(first, *(block(outputs, channels, 1) for _ in range(blocks - 1)))


def resnet(block, blocks, small):
    """`small`: for 32x32 images of ten classes; otherwise for 224x224 and a thousand classes."""
    stem = [("conv1", nn.Conv2d(3, 64, 3, 1, 1, bias=False) if small
             else nn.Conv2d(3, 64, 7, 2, 3, bias=False)),
            ("bn1", nn.BatchNorm2d(64)), ("relu", nn.ReLU())]
    if not small:
        stem.append(("maxpool", nn.MaxPool2d(3, 2, 1)))
    inputs, stages = 64, []
    for number, count in enumerate(blocks, 1):
        channels = 32 << number
        stages.append((f"layer{number}", resnet_stage(block, inputs, channels, count,
                                                      1 if number == 1 else 2)))
        inputs = block.expansion * channels
    end = [("avgpool", nn.AdaptiveAvgPool2d(1)), ("flatten", nn.Flatten()),
           ("fc", nn.Linear(inputs, 10 if small else 1000))]
    return nn.Sequential(OrderedDict(stem + stages + end))


def resnet18(small=False):
    return resnet(Basic, [2, 2, 2, 2], small)


def resnet50(small=False):
    return resnet(Bottleneck, [3, 4, 6, 3], small)
