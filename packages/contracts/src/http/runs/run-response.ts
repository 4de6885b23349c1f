import { placementWords, type Placement } from '../../events/placement.ts';
import { endReasonOf } from '../../events/run-error.ts';
import { JSON_KIND, type RunOutput, type StoredFile } from '../../events/run-event-data.ts';
import { isEnded, type EndedRun, type Run } from '../../fold/run.ts';
import { executorName } from '../../ids.ts';
import { parseJson } from '../../json.ts';
import type { RunAttempt } from './run-attempt.ts';
import type { MediaItem, MissingMember, OutputData, OutputItem } from './run-outputs.ts';
import type { WorkflowRun } from './run.ts';

type EndResponse = Pick<WorkflowRun, 'finished' | 'end_reason' | 'error' | 'warnings' | 'attempts'>;

/** How a run ended and what became of its attempts, as every response, event and notification shows it. */
export const endResponse = (run: Run): EndResponse => {
  const attempts = attemptsResponse(run);
  return isEnded(run)
    ? {
        finished: true,
        end_reason: run.end_reason,
        error: run.error,
        warnings: [...(run.warnings ?? [])],
        attempts,
      }
    : { finished: false, end_reason: null, error: null, warnings: [], attempts };
};

/** Null when the fact of the assignment does not say it. */
export const placementResponse = (placement: Placement | undefined): RunAttempt['placement'] =>
  placement
    ? {
        candidates: placement.candidates,
        choice: placement.choice,
        gpu_index: placement.gpu_index ?? null,
        waited_s: placement.waited_s,
        warm_wait_s: placement.warm_wait_s ?? null,
        held_back_by: placement.held_back_by ?? null,
        sentence: placementWords(placement),
      }
    : null;

/** The attempts of a run from the first to the present or last one. */
export const attemptsResponse = (run: Run): RunAttempt[] => {
  const earlier = run.earlier_attempts.map(
    ({ number, executor_id, gpu, placement, started_at, ended_at, error }) => ({
      number,
      executor: executorName(executor_id),
      gpu: gpu ?? run.request.gpu,
      placement: placementResponse(placement),
      started_at,
      ended_at,
      end_reason: endReasonOf(error.kind),
      error,
    }),
  );
  // The attempt of a run that is queued again is one of them.
  if (!run.attempt || earlier.at(-1)?.number === run.attempt.number) return earlier;
  const { number, executor_id, gpu = run.request.gpu } = run.attempt;
  const placement = placementResponse(run.attempt.placement);
  const started_at = 'started_at' in run ? run.started_at : null;
  const end = isEnded(run)
    ? { ended_at: run.ended_at, end_reason: run.end_reason, error: run.error }
    : { ended_at: null, end_reason: null, error: null };
  return [...earlier, { number, executor: executorName(executor_id), gpu, placement, started_at, ...end }];
};

/** The address at which clients find a file. */
export type OutputUrl = (file: Pick<StoredFile, 'key' | 'filename'>) => string;

/** Those of a blob are loaded before. */
export const outputsResponse = (run: EndedRun, outputUrl: OutputUrl): OutputItem[] =>
  (run.outputs ?? []).map(({ id, output_id, data, node_meta, type, node_id }) => ({
    id,
    run_id: run.run_id,
    output_id,
    data: outputData(data, outputUrl),
    node_meta,
    created_at: run.ended_at,
    updated_at: run.ended_at,
    type,
    node_id,
  }));

const outputData = (data: RunOutput['data'], outputUrl: OutputUrl): OutputData =>
  // Entries, because `__proto__` is an ordinary name.
  Object.fromEntries(
    Object.entries(data).map(([kind, items]): [string, unknown[]] => [
      kind,
      items.map((item) => {
        if (typeof item !== 'string') return mediaItem(item, outputUrl);
        return kind === JSON_KIND ? jsonValue(item) : item;
      }),
    ]),
  ) as OutputData;

const mediaItem = (file: StoredFile, outputUrl: OutputUrl): MediaItem => {
  const { type, filename, subfolder, upload_duration, content_type } = file;
  return { url: outputUrl(file), type, filename, is_public: true, subfolder, upload_duration, content_type };
};

/** In a copy of the log it may be masked, and is no JSON any more. */
const jsonValue = (text: string): unknown => {
  const value = parseJson(text);
  return value === undefined ? text : value;
};

/** What a run shows in `missing_members` about its outputs. `lost`: of the list of them, when it was loaded. */
export const missingOutputs = (run: Run, lost: readonly MissingMember[]): readonly MissingMember[] =>
  isEnded(run) && run.deleted_outputs ? [{ member: 'outputs', reason: 'deleted' }] : lost;
