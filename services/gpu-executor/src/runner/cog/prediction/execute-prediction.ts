import { errorOf, type AttemptError } from '@runledger/contracts/events/run-error';
import { sleep } from '@runledger/resilience/abort';
import { within } from '@runledger/resilience/within';
import { join } from 'node:path';
import { cancelWithGrace } from '../../../supervision/supervised-process.ts';
import { failed, type Executed } from '../../model-server/executed.ts';
import { inputFiles } from '../../model-server/input-files.ts';
import { serveInputs, type ServedInputs } from '../../model-server/serve-inputs.ts';
import { countOomKills, recentOomKills } from '../../../runners/output/program-error.ts';
import type { RunObserver } from '../../../runners/runner.ts';
import { hasRefusedInputs, refusal } from '../core/prediction.ts';
import type { CogLease } from '../server/cog-server.ts';
import { predictionBody } from './prediction-body.ts';
import {
  lostError,
  resultOf,
  stopped,
  tooLarge,
  STORAGE_FULL,
  type PredictionTask,
  type Sent,
} from './prediction-result.ts';
import { readAnswer } from './read-answer.ts';
import { watchPrediction, type WatchedPrediction } from './watch-prediction.ts';

/** Executes a run as one prediction, from sending it to its files. */
export const executePrediction = async (
  lease: CogLease,
  task: PredictionTask,
  observe: RunObserver,
  signal: AbortSignal,
): Promise<Executed> => {
  const { id, work, temporary } = task;
  const since = Date.now();
  const oomKills = recentOomKills();
  const giveUp = new AbortController();
  const over = new AbortController();
  const stop = { terminate: () => void repeatCancel(lease, id, over.signal), kill: () => giveUp.abort() };
  using cancel = cancelWithGrace(stop, signal, task.cancelGraceMs);
  await using watched = watchPrediction(lease.api, id, temporary, observe);
  const sent = await send({ lease, task, watched }, signal, AbortSignal.any([giveUp.signal, lease.gone]));
  const isMemoryShort = countOomKills() > oomKills;
  over.abort();
  const last = await watched.stop();
  if (signal.aborted) return stopped(task, { sent, last, api: lease.api, since, forced: cancel.forced });
  switch (sent.kind) {
    case 'ended':
      return resultOf(task, { answer: sent.answer, last, watched, api: lease.api, since, isMemoryShort });
    case 'refused':
      return failed(work, sent.error, { isUsable: true });
    case 'too_large':
      return failed(work, tooLarge(task.model, sent.why), { isUsable: true });
    case 'storage_full':
      return failed(work, STORAGE_FULL, { isUsable: true });
    case 'lost': {
      // A connection may break just before the end of the process is known.
      const end = await within(ENDS_WITHIN_MS, lease.ended, () => null);
      const isShort = countOomKills() > oomKills;
      return failed(work, lostError(task.model, { why: sent.why, end, isMemoryShort: isShort }), {
        isUsable: false,
      });
    }
  }
};

const ENDS_WITHIN_MS = 2_000;
const CANCEL_EVERY_MS = 500;
const AGAIN_AFTER_MS = 250;

/** A prediction may not heed the first one, and the server does not know it before it has the whole request. */
const repeatCancel = async ({ api }: CogLease, id: string, over: AbortSignal): Promise<void> => {
  while (!over.aborted) {
    await api.cancel(id);
    await sleep(CANCEL_EVERY_MS, over);
  }
};

interface Sending {
  readonly lease: CogLease;
  readonly task: PredictionTask;
  readonly watched: WatchedPrediction;
}

/** Sends the prediction until the server takes it, and waits for its end. */
const send = async (
  { lease, task, watched }: Sending,
  signal: AbortSignal,
  giveUp: AbortSignal,
): Promise<Sent> => {
  const { model, id, work, temporary } = task;
  const files = inputFiles(work);
  const names = [...files.values()].flatMap((file) => file.names);
  // A server that runs anyway may be in a container, or on another machine.
  await using served = lease.isOwn && names.length > 0 ? await serveInputs(work.inputDir, names) : null;
  let byUrl: ServedInputs | null = served;
  const since = performance.now();
  for (let tries = 0; ; tries += 1) {
    const body = predictionBody(work, files, byUrl);
    const answer = await lease.api.predict(
      { id, body, traceparent: work.traceparent },
      () => watched.begin(),
      giveUp,
    );
    if (answer.kind === 'lost') return answer;
    const read = await readAnswer(answer.body, join(temporary, `answer-${tries}`));
    if ('kind' in read) return read;
    if (answer.status === 200 && read.prediction !== null) {
      if (byUrl === null || byUrl.wasAsked() || !hasRefusedInputs(read.prediction))
        return { kind: 'ended', answer: read };
      // Its command starts it in a network of its own, as a container has it: it gets no file by URL.
      byUrl = null;
      continue;
    }
    // 202: the server still has a look at this prediction that it took for one.
    const error = answer.status === 202 ? null : refusal(answer.status, read.text, model);
    if (error !== null) return { kind: 'refused', error };
    if (signal.aborted) return { kind: 'lost', why: 'the run was stopped' };
    if (performance.now() - since > task.busyMs) return { kind: 'refused', error: stillBusy(task) };
    await sleep(AGAIN_AFTER_MS, giveUp);
  }
};

const stillBusy = ({ model, busyMs }: PredictionTask): AttemptError =>
  errorOf(
    'setup_failed',
    `The server of the Cog model ${model} has taken no prediction for ${busyMs / 1_000} s: it executes others, or was not set up.`,
  );
