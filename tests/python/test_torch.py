"""PyTorch: tensors, and the operators with fake kernels and gradients."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import tessera  # noqa: E402
import tessera.torch  # noqa: E402

DEVICES = ["cpu"] + (["cuda"] if torch.cuda.is_available() and tessera.device_count() else [])


@pytest.fixture(params=DEVICES)
def device(request):
    torch.manual_seed(3)
    return request.param


def normal(*shape, device, dtype=torch.float64, grad=False):
    return torch.randn(*shape, device=device, dtype=dtype, requires_grad=grad)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_tensors_come_back_as_they_came(device, dtype):
    a, b = normal(33, 48, device=device, dtype=dtype), normal(48, 17, device=device, dtype=dtype)
    got = tessera.gemm(a, b)
    assert isinstance(got, torch.Tensor) and got.dtype == dtype and got.device.type == device
    torch.testing.assert_close(got.double(), a.double() @ b.double(), rtol=2e-2, atol=2e-2)
    torch.testing.assert_close(tessera.gemm(b.T, a.T), got.T)
    out = torch.empty_like(got)
    assert tessera.gemm(a, b, out=out) is out


def test_a_gradient_is_not_lost_in_silence(device):
    a = normal(3, 3, device=device, grad=True)
    with pytest.raises(tessera.InvalidArgumentError, match="tessera.torch"):
        tessera.gemm(a, a)
    with torch.no_grad():
        torch.testing.assert_close(tessera.gemm(a, a), a @ a)


def test_the_current_stream_is_used(device):
    if device == "cpu":
        pytest.skip("the CPU has no streams")
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        a = normal(2048, 2048, device=device, dtype=torch.bfloat16)
        torch.cuda._sleep(10_000_000)
        a.fill_(1)
        c = tessera.gemm(a, a)
    stream.synchronize()
    assert (c == 2048).all()


def ends(*sizes):
    return torch.tensor(sizes, dtype=torch.int32).cumsum(0)


def reference_grouped(a, b, last):
    """Row by row, in torch."""
    begin, parts = 0, []
    for g, end in enumerate(last.tolist()):
        parts.append(a[begin:end] @ b[g])
        begin = end
    parts.append(a.new_zeros(a.shape[0] - begin, b.shape[2]))
    return torch.cat(parts)


OPERATORS = {
    "gemm": lambda d: (
        torch.ops.tessera.gemm,
        (normal(4, 6, device=d, grad=True), normal(6, 5, device=d, grad=True)),
    ),
    "gemm_epilogue": lambda d: (
        torch.ops.tessera.gemm,
        (
            normal(4, 6, device=d, grad=True),
            normal(6, 5, device=d, grad=True),
            normal(5, device=d, grad=True),
            "silu",
            0.5,
        ),
    ),
    "gemm_batch": lambda d: (
        torch.ops.tessera.gemm,
        (normal(3, 4, 6, device=d, grad=True), normal(6, 5, device=d, grad=True)),
    ),
    "grouped_gemm": lambda d: (
        torch.ops.tessera.grouped_gemm,
        (normal(9, 4, device=d, grad=True), normal(3, 4, 5, device=d, grad=True), ends(3, 0, 4)),
    ),
    "grouped_weight_gradient": lambda d: (
        torch.ops.tessera.grouped_weight_gradient,
        (normal(9, 4, device=d, grad=True), normal(9, 5, device=d, grad=True), ends(3, 0, 4)),
    ),
    "gated_gemm": lambda d: (
        torch.ops.tessera.gated_gemm,
        (
            normal(5, 4, device=d, grad=True),
            normal(4, 6, device=d, grad=True),
            normal(4, 6, device=d, grad=True),
        ),
    ),
    "gated_gemm_groups": lambda d: (
        torch.ops.tessera.gated_gemm,
        (
            normal(9, 4, device=d, grad=True),
            normal(3, 4, 5, device=d, grad=True),
            normal(3, 4, 5, device=d, grad=True),
            ends(3, 0, 4),
            "gelu_tanh",
        ),
    ),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_are_well_formed(device, name):
    operator, arguments = OPERATORS[name](device)
    torch.library.opcheck(operator, arguments)


@pytest.mark.parametrize("name", OPERATORS)
def test_gradients(device, name):
    operator, arguments = OPERATORS[name](device)
    assert torch.autograd.gradcheck(operator, arguments)


ACTIVATIONS = {
    "none": lambda z: z,
    "relu": torch.relu,
    "gelu_tanh": lambda z: torch.nn.functional.gelu(z, approximate="tanh"),
    "gelu_erf": torch.nn.functional.gelu,
    "silu": torch.nn.functional.silu,
}


def assert_same_with_gradients(got, want, inputs):
    torch.testing.assert_close(got, want)
    gradient = torch.randn_like(got)
    for mine, theirs in zip(
        torch.autograd.grad(got, inputs, gradient), torch.autograd.grad(want, inputs, gradient)
    ):
        torch.testing.assert_close(mine, theirs)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_epilogues_are_torchs(device, activation):
    a, b, bias = (normal(*shape, device=device, grad=True) for shape in [(7, 6), (6, 5), (5,)])
    got = tessera.torch.gemm(a, b, bias, activation)
    want = ACTIVATIONS[activation](a @ b + bias)
    assert_same_with_gradients(got, want, (a, b, bias))


def test_grouped_gemm(device):
    a, b = normal(9, 4, device=device), normal(3, 4, 5, device=device)
    last = ends(3, 0, 4)
    torch.testing.assert_close(
        tessera.torch.grouped_gemm(a, b, last), reference_grouped(a, b, last)
    )
    torch.testing.assert_close(
        tessera.torch.grouped_gemm(a, b, last.short()), reference_grouped(a, b, last)
    )
    weights = tessera.torch.grouped_weight_gradient(a, normal(9, 5, device=device), last)
    assert weights.shape == (3, 4, 5) and (weights[1] == 0).all()
    for wrong in (ends(3, 0, 9), ends(3, 0), ends(0, 3, 0, 4), ends(4, -1, 2)):
        with pytest.raises(tessera.InvalidArgumentError, match="ends"):
            tessera.torch.grouped_gemm(a, b, wrong)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_gated_gemm(device, activation):
    a, gate, up = (normal(*s, device=device, grad=True) for s in [(7, 6), (6, 5), (6, 5)])
    got = tessera.torch.gated_gemm(a, gate, up, activation=activation)
    want = ACTIVATIONS[activation](a @ gate) * (a @ up)
    assert_same_with_gradients(got, want, (a, gate, up))


def test_sizes_in_the_gpus_memory(device):
    """A graph that was captured with some sizes computes with those of the moment."""
    if device == "cpu":
        pytest.skip("the CPU has no memory of another device")
    a, b = normal(300, 64, device=device, dtype=torch.bfloat16), normal(
        4, 64, 96, device=device, dtype=torch.bfloat16
    )
    last = ends(100, 0, 150, 50).to(device)
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        tessera.torch.grouped_gemm(a, b, last)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=side):
        got = tessera.torch.grouped_gemm(a, b, last)
    for sizes in [(100, 0, 150, 50), (1, 298, 0, 0), (0, 0, 7, 200)]:
        last.copy_(ends(*sizes))
        graph.replay()
        torch.testing.assert_close(got, reference_grouped(a, b, ends(*sizes)), rtol=2e-2, atol=2e-1)
    # The offsets of ragged_gemm begin with 0, and out keeps what no group has.
    out = torch.full((300, 96), 7.0, device=device, dtype=torch.bfloat16)
    offsets = torch.tensor([0, 5, 5, 9, 200], device=device, dtype=torch.int32)
    tessera.ragged_gemm(a, b, offsets, out=out)
    torch.testing.assert_close(
        out[:200], reference_grouped(a, b, ends(5, 0, 4, 191))[:200], rtol=2e-2, atol=2e-1
    )
    assert (out[200:] == 7).all()


def test_wrong_sizes_can_be_asked_for(device):
    a, b = normal(9, 8, device=device), normal(3, 8, 5, device=device)
    tessera.check_sizes(a)
    offsets = torch.tensor([0, 5, 3, 9], device=device)
    if device == "cpu":
        with pytest.raises(tessera.InvalidArgumentError, match="offsets"):
            tessera.ragged_gemm(a, b, offsets)
        return
    assert (tessera.ragged_gemm(a, b, offsets) == 0).all()
    with pytest.raises(tessera.InvalidArgumentError, match="group 1"):
        tessera.check_sizes(a)
    tessera.check_sizes(a)


def test_views_of_the_other_sign(device):
    """torch negates such a view's memory when it is read."""
    z = torch.complex(normal(6, 5, device=device), normal(6, 5, device=device))
    a, b = z.conj().imag, normal(5, 4, device=device)
    assert a.is_neg()
    torch.testing.assert_close(tessera.gemm(a, b), a.clone() @ b)
    with pytest.raises(tessera.InvalidArgumentError, match="out"):
        tessera.gemm(b.mT.contiguous(), b, out=torch.zeros_like(z[:4, :4]).conj().imag)


def test_compiles_without_graph_breaks(device):
    def layer(x, w, bias):
        return tessera.torch.gemm(torch.relu(x), w, bias, "gelu_tanh") * 2

    x, w, bias = (normal(*s, device=device, dtype=torch.float32) for s in [(8, 6), (6, 4), (4,)])
    # The compiler behind the graph is not at issue here.
    compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(x, w, bias), layer(x, w, bias))


def test_cuda_graphs(device):
    if device == "cpu":
        pytest.skip("the CPU has no CUDA graphs")
    a = normal(512, 512, device=device, dtype=torch.bfloat16)
    c = torch.empty_like(a)
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            tessera.gemm(a, a, out=c)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        tessera.gemm(a, a, out=c)
    a.copy_(torch.eye(512))
    graph.replay()
    torch.testing.assert_close(c, a)


def test_a_capture_needs_no_run_on_its_stream(device):
    """torch captures on a stream of its own, on which nothing has run."""
    if device == "cpu":
        pytest.skip("the CPU has no CUDA graphs")
    a, b = normal(300, 64, device=device, dtype=torch.bfloat16), normal(
        4, 64, 96, device=device, dtype=torch.bfloat16
    )
    last = ends(100, 0, 150, 50).to(device)
    want = tessera.torch.grouped_gemm(a, b, last)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        got = tessera.torch.grouped_gemm(a, b, last)
    for _ in range(3):
        got.zero_()
        graph.replay()
        torch.testing.assert_close(got, want, rtol=0, atol=0)
