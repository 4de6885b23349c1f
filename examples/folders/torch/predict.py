import torch

# Loaded once, and kept between runs.
torch.manual_seed(0)
network = torch.nn.Sequential(torch.nn.Linear(2, 2, bias=False), torch.nn.ReLU())
with torch.no_grad():
    network[0].weight.copy_(torch.tensor([[1.0, 1.0], [1.0, -1.0]]))


def predict(a: float, b: float):
    with torch.inference_mode():
        plus, minus = network(torch.tensor([a, b])).tolist()
    return f"{plus:g} {minus:g}"
