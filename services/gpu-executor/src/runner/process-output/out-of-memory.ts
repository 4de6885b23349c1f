/** What libraries say when memory is short, of the machine or of the card: each alternative is from their own messages. */
const OUT_OF_MEMORY = new RegExp(
  [
    // torch (CUDA, HIP, MPS), cupy, jax, llama.cpp, Node's heap, Go; torch.OutOfMemoryError, java.lang.OutOfMemoryError; numba, Node's workers.
    'out of memory|OutOfMemory|OUT_OF_MEMORY',
    // Python, numpy.
    String.raw`\b_?(?:Array)?MemoryError\b`,
    'CU[A-Z]+_(?:STATUS_)?ALLOC_FAILED',
    'cudaErrorMemoryAllocation',
    // jax, tensorflow. A service that is asked too often has the same word for it.
    'RESOURCE_EXHAUSTED(?!.*(?:quota|rate))|OOM when allocating',
    // torch's allocator, fork and mmap, onnxruntime, C++, Rust.
    "can(?:no|')t allocate memory|failed to allocate memory|std::bad_alloc|memory allocation of \\d+ bytes failed",
  ].join('|'),
  'i',
);

/** How a program says that something killed one of its own processes. */
const CHILD_KILLED = /\bSIGKILL\b|\bsignal:? (?:9\b|Killed)|terminated abruptly/i;

export const saysOutOfMemory = (text: string): boolean => OUT_OF_MEMORY.test(text);

const MAX_SHOWN = 300;

/**
 * The line that says so at the end of standard error, for people; null when none does. After a traceback of Python only the exception counts, and
 * what it is a direct cause of: a program may have got over an earlier one. `isMemoryShort`: the kernel killed a process meanwhile.
 */
export const outOfMemoryIn = (stderr: string, isMemoryShort = false): string | null => {
  const said = lastWords(stderr).find(
    (line) => saysOutOfMemory(line) || (isMemoryShort && CHILD_KILLED.test(line)),
  );
  return said === undefined ? null : said.trim().slice(0, MAX_SHOWN).toWellFormed();
};

const TRACEBACK = 'Traceback (most recent call last):';
const CAUSE = 'The above exception was the direct cause of the following exception:';

const lastWords = (stderr: string): string[] => {
  const [before = '', ...tracebacks] = stderr.split(TRACEBACK);
  if (tracebacks.length === 0) return before.split('\n');
  const first = tracebacks.findLastIndex((_, index) => tracebacks[index - 1]?.includes(CAUSE) !== true);
  return tracebacks.slice(first).flatMap((traceback) => {
    const lines = traceback.split('\n');
    const exception = lines.findIndex((line) => /^\S/.test(line));
    return exception === -1 ? [] : lines.slice(exception);
  });
};
