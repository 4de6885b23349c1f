import type { Logger } from '@runledger/event-log/connect/observability';
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { errorOf, type AttemptError } from '@runledger/contracts/events/run-error';
import { sleep } from '@runledger/resilience/abort';
import { within } from '@runledger/resilience/within';
import { contentTypeOf } from '@runledger/contracts/file-name';
import { isJsonObject } from '@runledger/contracts/json';
import { createReadStream } from 'node:fs';
import { removeTree } from '../../folders/remove-tree.ts';
import { type Executed, runOnServer, failed } from '../model-server/run-on-server.ts';
import type { Runner, RunObserver, RunnerWork } from '../runner.ts';
import {
  type PredictionTask,
  lostError,
  resultOf,
  stopped,
  tooLarge,
  STORAGE_FULL,
  type Sent,
} from './prediction-result.ts';
import { PREDICTIONS_FOLDER, type CogServer, type CogLease } from './cog-server.ts';
import { cancelWithGrace } from '../../supervision/supervised-process.ts';
import {
  inputFiles,
  serveInputs,
  type ServedInputs,
  type FilesOfInput,
} from '../model-server/serve-inputs.ts';
import { countOomKills, recentOomKills } from '../output/oom-kills.ts';
import { hasRefusedInputs, refusal } from './prediction.decide.ts';
import { readAnswer, watchPrediction, type WatchedPrediction } from './watch-prediction.ts';

export interface CogRunnerSettings {
  /** By the names of their models, and the indexes of the slots. */
  readonly models: ReadonlyMap<string, ReadonlyMap<number, CogServer>>;
  readonly workFolder: string;
  readonly cancelGraceMs: number;
  readonly startTimeoutMs: number;
  readonly log: Logger;
}

/** Executes a run as one prediction of a Cog server. */
export const cogRunner = (settings: CogRunnerSettings): Runner => ({
  run: async (work, observe, signal) => {
    const { models, cancelGraceMs, startTimeoutMs, log } = settings;
    const model = work.choice.kind === 'cog' ? work.choice.model : '';
    const servers = models.get(model);
    if (servers === undefined) {
      return { outcome: 'not_runnable', why: `EXECUTOR_COG of the executor names no model "${model}".` };
    }
    const server = servers.get(work.slot.index);
    if (server === undefined) throw new Error(`The Cog model ${model} has no slot ${work.slot.index}.`);
    return runOnServer(
      { server, title: model, work, observe, log },
      (lease, shown) =>
        inTemporaryFolder(settings, async (temporary) => {
          const id = `${work.run_id}-${work.attempt}`;
          const task: PredictionTask = { model, id, work, temporary, cancelGraceMs, busyMs: startTimeoutMs };
          const executed = await executePrediction(lease, task, shown, signal);
          if (lease.isOwn) await removeTree(join(PREDICTIONS_FOLDER, id), log);
          return executed;
        }),
      signal,
    );
  },
});

const inTemporaryFolder = async (
  { workFolder, log }: CogRunnerSettings,
  execute: (temporary: string) => Promise<Executed>,
): Promise<Executed> => {
  const temporary = await mkdtemp(join(workFolder, 'tmp-'));
  try {
    return await execute(temporary);
  } finally {
    await removeTree(temporary, log);
  }
};

/** Executes a run as one prediction, from sending it to its files. */
const executePrediction = async (
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

/** As many bytes as base64 has whole groups for, so that the groups of two chunks can be joined. */
const CHUNK_BYTES = 3 * 64 * 1024;

/**
 * The request of a prediction: the inputs of the workflow version, and over them those of the run. A file is its URL, by which the model gets its
 * name too, or a data URL, of which nothing stays in memory.
 */
async function* predictionBody(
  { workflow, inputs, inputDir }: RunnerWork,
  files: ReadonlyMap<string, FilesOfInput>,
  served: ServedInputs | null,
): AsyncGenerator<string, void> {
  const all = { ...inputsOf(workflow), ...inputs };
  let before = '{"input":{';
  for (const [name, value] of Object.entries(all)) {
    if (value === undefined) continue;
    yield `${before}${JSON.stringify(name)}:`;
    before = ',';
    const file = files.get(name);
    if (file === undefined) yield JSON.stringify(value);
    else yield* fileUrls(inputDir, file, served);
  }
  yield before === ',' ? '}}' : '{"input":{}}';
}

const inputsOf = (workflow: unknown): Readonly<Record<string, unknown>> => {
  const input = isJsonObject(workflow) ? workflow['input'] : undefined;
  return isJsonObject(input) ? input : {};
};

async function* fileUrls(
  inputDir: string,
  { names, isList }: FilesOfInput,
  served: ServedInputs | null,
): AsyncGenerator<string, void> {
  if (isList) yield '[';
  for (const [index, name] of names.entries()) {
    if (index > 0) yield ',';
    if (served === null) yield* dataUrl(join(inputDir, name));
    else yield JSON.stringify(served.urlOf(name));
  }
  if (isList) yield ']';
}

async function* dataUrl(path: string): AsyncGenerator<string, void> {
  const [type = ''] = contentTypeOf(path).split(';');
  yield `"data:${type};base64,`;
  let rest = Buffer.alloc(0);
  for await (const chunk of createReadStream(path, { highWaterMark: CHUNK_BYTES })) {
    const bytes = Buffer.concat([rest, chunk as Buffer]);
    const whole = bytes.length - (bytes.length % 3);
    yield bytes.toString('base64', 0, whole);
    rest = bytes.subarray(whole);
  }
  yield `${rest.toString('base64')}"`;
}
