"""CUDA C, compiled when needed by the compiler that comes with torch (NVRTC) and launched by the driver, through their C interfaces."""

import ctypes
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from itertools import accumulate
from typing import Any

import torch
from numpy.typing import NDArray

from feddp_kmeans.errors import CudaError

_ATTRIBUTE_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
_ALIGNED = 256


class Kernel:
    """One compiled kernel on a device."""

    def __init__(self, device: Any, source: str, name: str, constants: Mapping[str, int], shared: int, threads: int) -> None:
        self._device, self._driver, self._shared, self._threads = device, ctypes.CDLL("libcuda.so.1"), shared, threads
        self._module, self._function = ctypes.c_void_p(), ctypes.c_void_p()
        with torch.cuda.device(device):
            self._image = _binary(source, tuple(constants.items()), torch.cuda.get_device_capability())
            torch.cuda.current_stream().synchronize()  # Makes the device's context this thread's, for the driver.
            _check("load", self._driver.cuModuleLoadData(ctypes.byref(self._module), self._image))
            _check("find", self._driver.cuModuleGetFunction(ctypes.byref(self._function), self._module, name.encode()))
            _check("size", self._driver.cuFuncSetAttribute(self._function, _ATTRIBUTE_SHARED, shared))
            blocks = ctypes.c_int()
            counted = self._driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(
                ctypes.byref(blocks), self._function, threads, ctypes.c_size_t(shared)
            )
            _check("count", counted)
        self.blocks = blocks.value * torch.cuda.get_device_properties(device).multi_processor_count

    def __call__(self, blocks: int, *arguments: Any) -> None:
        """Launch this many blocks on the device's current stream. Tensors are passed as their addresses, integers as 64 bits."""
        values = [ctypes.c_int64(argument if isinstance(argument, int) else argument.data_ptr()) for argument in arguments]
        pointers = (ctypes.c_void_p * len(values))(*(ctypes.addressof(value) for value in values))
        with torch.cuda.device(self._device):
            stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
            launched = self._driver.cuLaunchKernel(self._function, blocks, 1, 1, self._threads, 1, 1, self._shared, stream, pointers, None)
        _check("launch", launched)


def sent(device: Any, *arrays: NDArray[Any]) -> list[Any]:
    """Return the bytes of numpy's arrays on a device, each at a multiple of 256, after one transfer."""
    pieces = [array.tobytes() for array in arrays]
    padded = [piece.ljust(-(-len(piece) // _ALIGNED) * _ALIGNED) for piece in pieces]
    starts = accumulate(map(len, padded), initial=0)
    there = torch.frombuffer(bytearray(b"".join(padded)), dtype=torch.uint8).to(device)
    return [there[start : start + len(piece)] for start, piece in zip(starts, pieces, strict=False)]


@cache
def source(*names: str) -> str:
    """Return these files of CUDA C as one."""
    return "".join((files("feddp_kmeans.silos.gpu") / name).read_text() for name in names)


@cache
def compiled(device: Any, sources: tuple[str, ...], name: str, shared: int, threads: int, **constants: int) -> Kernel | None:
    """Return a kernel of these files of CUDA C; None where it cannot be compiled."""
    try:
        return Kernel(device, source(*sources), name, constants, shared, threads)
    except (OSError, CudaError):
        return None


@cache
def _binary(source: str, constants: tuple[tuple[str, int], ...], capability: tuple[int, int]) -> bytes:
    compiler = ctypes.CDLL(f"libnvrtc.so.{(torch.version.cuda or '').split('.')[0]}")
    options = [b"--std=c++17", "--gpu-architecture=sm_{}{}".format(*capability).encode()]
    options += [f"-D{name}={value}".encode() for name, value in constants]
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    _check("read", compiler.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"kernel.cu", 0, None, None))
    code = compiler.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    if code:
        compiler.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        compiler.nvrtcGetProgramLog(program, log)
        raise CudaError(log.value.decode())
    _check("measure", compiler.nvrtcGetCUBINSize(program, ctypes.byref(size)))
    image = ctypes.create_string_buffer(size.value)
    _check("give", compiler.nvrtcGetCUBIN(program, image))
    compiler.nvrtcDestroyProgram(ctypes.byref(program))
    return image.raw


def _check(what: str, code: int) -> None:
    if code:
        raise CudaError(f"could not {what} a kernel, code {code}")
