/**
 * Calls `late` after this many milliseconds, unless what it returns is called before. What has arrived by then is handled first, since
 * this process, and not the server, may have stood still.
 */
export const whenLate = (ms: number, late: () => void): (() => void) => {
  let isOver = false;
  const timer = setTimeout(() => setImmediate(() => isOver || late()), ms);
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
};
