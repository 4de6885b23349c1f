/** Does so many works at once; the others wait in line. */
export const atMost = (most: number): (<Answer>(work: () => Promise<Answer>) => Promise<Answer>) => {
  const waiting: (() => void)[] = [];
  let free = most;
  return async (work) => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else free += 1;
    }
  };
};
