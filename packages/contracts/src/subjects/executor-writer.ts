const OF_EXECUTORS: ReadonlySet<string> = new Set(['registered', 'draining', 'left']);

/**
 * The name of the executor that may write under this subject of RUNS or FLEET, and so has written what is there; undefined for the
 * subjects of other services.
 */
export const executorWriterOf = (subject: string): string | undefined => {
  const tokens = subject.split('.');
  if (tokens[0] === 'runs') return tokens[5] === 'executor' ? tokens[7] : undefined;
  return tokens[0] === 'fleet' && OF_EXECUTORS.has(tokens[3] ?? '') ? tokens[1] : undefined;
};
