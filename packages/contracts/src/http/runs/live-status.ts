import { runnerKindOf } from '../../catalogue/runners.ts';
import { gpuOf, isEnded, type QueuedRun, type Run } from '../../fold/run.ts';
import type { GpuModel } from '../../gpu.ts';
import { MAX_LIVE_STATUS } from '../../limits.ts';
import type { QueuePosition } from '../../requests/queue-position.ts';

/**
 * A short sentence about the current step; null at the end. `reported` is the last report of the attempt, `position` the
 * scheduler's response for a waiting run, if there is one. At most MAX_LIVE_STATUS characters.
 */
export const liveStatus = (run: Run, reported: string | null, position?: QueuePosition): string | null => {
  if (isEnded(run)) return null;
  if (run.status === 'queued') return waiting(run, position);
  if (run.cancel) return 'cancelling';
  switch (run.status) {
    case 'started':
      return reported ?? `starting on ${withArticle(gpuOf(run))}`;
    case 'running':
      return reported ?? 'running';
    case 'uploading':
      return reported?.startsWith(STORING) ? reported : STORING;
  }
};

const STORING = 'storing output files';

interface StoringProgress {
  /** That are stored. */
  readonly stored: number;
  readonly files: number;
  readonly sentBytes: number;
  readonly bytes: number;
  readonly isWaiting: boolean;
}

/** What an executor reports while it stores the files of a run. */
export const storingStatus = ({ stored, files, sentBytes, bytes, isWaiting }: StoringProgress): string => {
  const percent = bytes === 0 ? 100 : Math.floor((100 * sentBytes) / bytes);
  const sent = `${STORING}: ${stored} of ${files} stored, ${percent} % of ${inWords(bytes)} sent`;
  return isWaiting ? `${sent}, waiting for the gateway` : sent;
};

const inWords = (bytes: number): string =>
  bytes < 1024 ** 2 ? `${bytes} bytes` : `${(bytes / 1024 ** 2).toFixed(1)} MiB`;

/** It waits for a time, in no queue. */
export const isLater = (position: QueuePosition | undefined): boolean =>
  position?.capacity === 'delayed' || position?.capacity === 'retrying';

const waiting = (run: QueuedRun, position: QueuePosition | undefined): string => {
  const wait = isLater(position) ? 'waiting' : `waiting for ${models(run.request)}`;
  return position ? `${wait}${reason(run, position)}` : wait;
};

/** Follows "waiting for an A100". */
const reason = ({ request, not_before }: QueuedRun, { ahead, capacity }: QueuePosition): string => {
  switch (capacity) {
    case 'busy':
      return ahead === 0 ? ' (next)' : ` (${ahead} ahead)`;
    case 'warm':
      return ` that has its workflow loaded, at most ${request.warm_wait_s ?? 0} s`;
    case 'organisation_limit':
      return ': its organisation executes as many runs as an operator allows';
    case 'concurrency_limit':
      return `: its deployment executes at most ${request.concurrency_limit ?? 1} at a time`;
    case 'concurrency_key':
      return ': another run with its concurrency key executes';
    case 'delayed':
      return ` until ${not_before ?? 'later'}, as requested`;
    case 'retrying':
      return ` until ${not_before ?? 'later'}, to try again after an error`;
    case 'storage_full':
      return ': the log has no room for another attempt now';
    case 'draining':
      return ': every executor that could execute it is draining';
    case 'no_gpu':
      return ': no executor offers one now';
    case 'not_served':
      return `: no executor that serves machine ${shortened(request.machine_name)} has one now`;
    case 'no_runner':
      return `: no executor that has one ${runnerKindOf(request.runner).offers(request.runner, shortened)} now`;
    case 'no_label':
      return `: no executor that could execute it has ${labelsOf(request)}`;
  }
};

const models = ({ gpu, gpu_fallbacks }: QueuedRun['request']): string =>
  gpu_fallbacks ? `${withArticle(gpu)} or another GPU` : withArticle(gpu);

const labelsOf = ({ labels = [] }: QueuedRun['request']): string =>
  labels.length === 1 ? `the label ${labels.join('')}` : `its ${labels.length} labels`;

/** The rest of the sentence fits in 100 characters. */
const LONGEST_NAME = MAX_LIVE_STATUS - 100;

const shortened = (name: string): string =>
  name.length <= LONGEST_NAME ? name : `${name.slice(0, LONGEST_NAME - 1).replace(HALF_A_LETTER, '')}…`;

/** The first half of a surrogate pair whose second half was cut off. */
const HALF_A_LETTER = /[\uD800-\uDBFF]$/;

/** A model is spelled out when it is read aloud: a T4, an RTX4090. */
const withArticle = (gpu: GpuModel): string => `${/^[AEFHILMNORSX8]/.test(gpu) ? 'an' : 'a'} ${gpu}`;

/** The time of an event or a response, in milliseconds since 1970. */
// oxlint-disable-next-line no-restricted-globals -- it parses a time; it does not read the clock
export const instantOf = (time: string): number => Date.parse(time);
