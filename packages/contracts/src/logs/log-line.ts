/** Where a line of a run's log comes from: the workflow's two output streams, or what executes it. */
export const LOG_STREAMS = ['stdout', 'stderr', 'runner'] as const;
export type LogStream = (typeof LOG_STREAMS)[number];
