import type { Run } from '../api/schemas.ts';

/** What a row of the table shows of a run. Whole runs would fill the memory of a browser that has scrolled far. */
export interface RunRow {
  readonly id: string;
  readonly number: number;
  readonly status: Run['status'];
  readonly progress: number;
  readonly live_status: string | null;
  readonly finished: boolean;
  readonly gpu: string;
  readonly tags: readonly string[];
  readonly workflow_id: string;
  readonly created_at: string;
  readonly started_at: string | null;
  readonly ended_at: string | null;
  readonly queue_position: number | null;
  readonly error: string | null;
}

export const rowOf = (run: Run): RunRow => {
  const { id, number, status, progress, live_status, finished, gpu, tags, workflow_id, queue_position } = run;
  const { created_at, started_at, ended_at, error } = run;
  return {
    id,
    number,
    status,
    progress,
    live_status,
    finished,
    gpu,
    tags,
    workflow_id,
    created_at,
    started_at,
    ended_at,
    queue_position,
    error: error?.message ?? null,
  };
};
