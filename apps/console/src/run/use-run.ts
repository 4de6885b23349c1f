import { useQuery, useQueryClient, type UseQueryResult } from '@tanstack/react-query';
import type { Run, Schemas } from '../api/schemas.ts';
import { useEffect } from 'react';
import { answered, api } from '../api/client.ts';
import { streams } from '../api/runledger.ts';

type RunHistory = Schemas['RunHistory'];

/** An event stream tells changes; this is for what it does not, such as the place in the queue. */
const WAITING_MS = 5_000;

const runKey = (runId: string): readonly string[] => ['run', runId, 'now'];

/** The run as it is, as it changes. */
export const useRun = (runId: string): UseQueryResult<Run> => {
  const run = useQuery({
    queryKey: runKey(runId),
    queryFn: async ({ signal }) =>
      answered(
        api.GET('/run/{run_id}', {
          params: { path: { run_id: runId }, query: { include: ['inputs'] } },
          signal,
        }),
      ),
    refetchInterval: ({ state }) => (state.data?.finished === false ? WAITING_MS : false),
  });
  useEvents(runId, run.data?.finished === false);
  return run;
};

/** The run as it was after the fact at a position. That never changes. */
export const useRunAt = (runId: string, sequence: number | undefined): UseQueryResult<Run> =>
  useQuery({
    queryKey: ['run', runId, 'at', sequence ?? null],
    queryFn: async ({ signal }) =>
      answered(
        api.GET('/run/{run_id}', {
          params: { path: { run_id: runId }, query: { at_seq: sequence ?? 0, include: ['inputs'] } },
          signal,
        }),
      ),
    enabled: sequence !== undefined,
    staleTime: Infinity,
    placeholderData: (former) => former,
  });

/** Every fact of a run. `version` changes with the run. */
export const useHistory = (runId: string, version: string): UseQueryResult<RunHistory> =>
  useQuery({
    queryKey: ['run', runId, 'history', version],
    queryFn: async ({ signal }) =>
      answered(
        api.GET('/run/{run_id}/history', {
          params: { path: { run_id: runId }, query: { log_lines: 0 } },
          signal,
        }),
      ),
    placeholderData: (former) => former,
  });

/** Reads the run again at each fact, and shows progress at once. */
const useEvents = (runId: string, isLive: boolean): void => {
  const client = useQueryClient();
  useEffect(() => {
    if (!isLive) return undefined;
    const stop = new AbortController();
    const follow = async (): Promise<void> => {
      for await (const { event, data } of streams.subscribe(runId, { signal: stop.signal }))
        if (event === 'fact') void client.invalidateQueries({ queryKey: ['run', runId] });
        else {
          const { progress, live_status } = data;
          client.setQueryData<Run>(runKey(runId), (run) => run && { ...run, progress, live_status });
        }
    };
    // What is refused, such as a session that has ended, the query of the run shows.
    void follow().catch(() => undefined);
    return () => stop.abort();
  }, [client, runId, isLive]);
};
