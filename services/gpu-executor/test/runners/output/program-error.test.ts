import { describe, expect, it } from 'vitest';
import { oomKillsIn } from '../../../src/runners/output/oom-kills.ts';
import {
  programError,
  type EndedProgram,
  hidingValues,
  lastStderrLines,
} from '../../../src/runners/output/program-error.decide.ts';

const after = (end: EndedProgram['end'], isMemoryShort = false, stderr = ''): unknown =>
  programError({ name: 'render', end, isMemoryShort, stderr, temporaryBytes: 8 * 1024 ** 2 });
const exit = (code: number): EndedProgram['end'] => ({ kind: 'exited', code, signal: null });
const killed = (signal: NodeJS.Signals): EndedProgram['end'] => ({ kind: 'exited', code: null, signal });

describe('the error of a program', () => {
  it('has its exit code, and the last lines of its standard error', () => {
    expect(after(exit(3), false, 'size is too large')).toEqual({
      message: 'The program render ended with exit code 3.\nsize is too large',
      kind: 'program_exit',
      exit_code: 3,
      retryable: true,
    });
    expect(after(exit(0))).toBeNull();
  });

  it('has the signal that ended it', () => {
    expect(after(killed('SIGSEGV'))).toMatchObject({ kind: 'program_signal', signal: 'SIGSEGV' });
    expect(after({ kind: 'unreported', why: 'its supervisor ended with SIGKILL' })).toMatchObject({
      kind: 'crashed',
    });
  });

  it.each([
    killed('SIGKILL'),
    exit(137),
    { kind: 'unreported', why: 'its supervisor ended with SIGKILL' } as const,
  ])('says that memory was short when the kernel killed it: %j', (end) => {
    expect(after(end, true)).toMatchObject({ kind: 'out_of_memory' });
    expect(after(end, false)).not.toMatchObject({ kind: 'out_of_memory' });
  });

  it('says that its /tmp is full, and what to do', () => {
    const end = { ...exit(1), isTemporaryFull: true } as EndedProgram['end'];
    expect(after(end, false, 'OSError: [Errno 28] No space left on device')).toMatchObject({
      kind: 'limit_exceeded',
      exit_code: 1,
      message: expect.stringMatching(/the \/tmp of 8 MiB is full: .*\$TMPDIR.*EXECUTOR_RUN_TMP_BYTES/),
    });
    expect(after({ ...end, code: 0 } as EndedProgram['end'])).toBeNull();
  });

  it('says that its /tmp may have been full when it found no room', () => {
    expect(after(exit(1), false, 'OSError: [Errno 28] No space left on device')).toMatchObject({
      kind: 'program_exit',
      message: expect.stringMatching(/If that was in \/tmp, .* 8 MiB: .*EXECUTOR_RUN_TMP_BYTES/),
    });
  });

  it.each([
    ['memory', 'out_of_memory', true],
    ['disk', 'limit_exceeded', false],
  ] as const)('says which limit it was killed for: %s', (resource, kind, retryable) => {
    expect(after({ kind: 'exceeded', exceeded: { resource, limitBytes: 4096 } })).toMatchObject({
      kind,
      retryable,
      message: expect.stringMatching(/^The program render was killed: .*4096 bytes .*EXECUTOR_RUN_/),
    });
  });

  it.each([
    ['SIGXCPU', 'EXECUTOR_RUN_CPU_S'],
    ['SIGXFSZ', 'EXECUTOR_RUN_DISK_BYTES'],
  ] as const)('says which limit the kernel ended it for: %s', (signal, setting) => {
    expect(after(killed(signal))).toMatchObject({
      kind: 'limit_exceeded',
      signal,
      message: expect.stringContaining(setting),
    });
  });

  const traceback = (exception: string): string =>
    `Traceback (most recent call last):\n  File "run.py", line 7, in <module>\n    step()\n${exception}`;

  it.each([
    'torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total capacity of 23.68 GiB',
    'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 MiB.',
    'RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`',
    "RuntimeError: [enforce fail at alloc_cpu.cpp:75] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 400000000000 bytes. Error code 12 (Cannot allocate memory)",
    'jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating 17179869184 bytes.',
    'numpy._core._exceptions._ArrayMemoryError: Unable to allocate 7.28 TiB for an array with shape (1000000, 1000000) and data type float64',
    'MemoryError',
    'cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 8,000,000,000 bytes',
  ])('says that memory was short after the exception of a library: %s', (exception) => {
    expect(after(exit(1), false, `loading\n${traceback(exception)}`)).toMatchObject({
      kind: 'out_of_memory',
      exit_code: 1,
      retryable: true,
      message: expect.stringContaining(`The program render ran out of memory: ${exception.slice(0, 100)}`),
    });
  });

  it('says that memory was short when the heap of Node was, also behind its long trace', () => {
    const said = 'FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory';
    const trace = Array.from(
      { length: 20 },
      (_, n) => ` ${n}: 0x102a [node]${' v8::internal::Heap'.repeat(3)}`,
    );
    expect(after(killed('SIGABRT'), false, [said, ...trace].join('\n'))).toMatchObject({
      kind: 'out_of_memory',
      signal: 'SIGABRT',
      message: expect.stringContaining(said),
    });
  });

  it('has the error after which it ended, and what that is the direct cause of', () => {
    const short = traceback('torch.OutOfMemoryError: CUDA out of memory.');
    const another = 'During handling of the above exception, another exception occurred:';
    const cause = 'The above exception was the direct cause of the following exception:';
    const last = traceback('ValueError: the size is wrong');
    expect(after(exit(1), false, `${short}\n\n${another}\n\n${last}`)).toMatchObject({
      kind: 'program_exit',
    });
    expect(after(exit(1), false, `CUDA out of memory, with half the size again\n${last}`)).toMatchObject({
      kind: 'program_exit',
    });
    expect(after(exit(1), false, `${short}\n\n${cause}\n\n${last}`)).toMatchObject({ kind: 'out_of_memory' });
    expect(after(exit(0), false, short)).toBeNull();
    const quota = 'google.api_core.exceptions.ResourceExhausted: 429 RESOURCE_EXHAUSTED: Quota exceeded';
    expect(after(exit(1), false, traceback(quota))).toMatchObject({ kind: 'program_exit' });
  });

  it('says that memory was short when the kernel killed one of its own processes', () => {
    const worker = traceback('RuntimeError: DataLoader worker (pid 71) is killed by signal: Killed. ');
    expect(after(exit(1), true, worker)).toMatchObject({ kind: 'out_of_memory' });
    expect(after(exit(1), false, worker)).toMatchObject({ kind: 'program_exit' });
  });

  it('is its own when another process was killed meanwhile', () => {
    expect(after(exit(1), true)).toMatchObject({ kind: 'program_exit' });
    expect(after(exit(0), true)).toBeNull();
  });

  it('counts the kills of the kernel', () => {
    expect(oomKillsIn('nr_free_pages 3\noom_kill 17\ndrop_pagecache 0\n')).toBe(17);
    expect(oomKillsIn('')).toBe(0);
  });
});

describe('the last lines of standard error', () => {
  const folders = {
    RUNLEDGER_INPUT_DIR: '/var/work/inputs',
    RUNLEDGER_OUTPUT_DIR: '/var/work/outputs',
    TMPDIR: '/var/var/lib/run-1',
  };
  const shown = (tail: string, env: Record<string, string> = {}): string =>
    lastStderrLines(hidingValues({ env }, folders)(tail));

  it('are not empty, and whole as far as they fit', () => {
    expect(shown('one\n\n  \ntwo\n')).toBe('one\ntwo');
    expect(shown(`first\n${'x'.repeat(1_015)}\nlast`)).toBe(`${'x'.repeat(1_015)}\nlast`);
    expect(shown(`first\n${'x'.repeat(1_030)}\nlast`)).toBe('last');
  });

  it('are the end of a line that is too long, without a half character', () => {
    expect(shown('é'.repeat(2_000))).toBe('é'.repeat(512));
    expect(shown(`x${'😀'.repeat(300)}`)).toBe('😀'.repeat(256));
  });

  it('name folders of the executor and values of its operator instead of showing them', () => {
    const env = { TOKEN: 'hunter2-hunter2', LONG_TOKEN: 'hunter2-hunter2-more', DEPTH: '2' };
    expect(
      shown(
        '/var/var/lib/run-1/a /var/work/inputs/c /var/work/outputs/b hunter2-hunter2 hunter2-hunter2-more 2',
        env,
      ),
    ).toBe('$TMPDIR/a $RUNLEDGER_INPUT_DIR/c $RUNLEDGER_OUTPUT_DIR/b $TOKEN $LONG_TOKEN 2');
  });
});
