import type { RunFactEvent, RunProgressEvent } from '@runledger/contracts/http/runs/run-events';

/** Made once for all streams of a run: the outputs at the end may be large, and many may wait for slow clients. */
const finalFrames = new WeakMap<RunFactEvent, Buffer>();

/** A fact as a server-sent event. A client that was told of progress is never told less with the next fact of the attempt. */
export const factFrame = (fact: RunFactEvent, told: RunProgressEvent | undefined): string | Buffer => {
  if (!fact.finished) return framed({ ...fact, progress: progressOf(fact, told) });
  const frame = finalFrames.get(fact) ?? Buffer.from(framed(fact));
  finalFrames.set(fact, frame);
  return frame;
};

const framed = (fact: RunFactEvent): string =>
  `id: ${fact.sequence}\nevent: fact\ndata: ${JSON.stringify(fact)}\n\n`;

const progressOf = (fact: RunFactEvent, told: RunProgressEvent | undefined): number =>
  fact.status !== 'queued' && fact.attempt === told?.attempt ? told.progress : fact.progress;

/** It has no id: the place in the log stays that of the last fact. */
export const progressFrame = (progress: RunProgressEvent): string =>
  `event: progress\ndata: ${JSON.stringify(progress)}\n\n`;

/** Keeps the connection alive, and says nothing. */
export const COMMENT = ': waiting\n\n';

const COME_BACK_AFTER_MS = 1_000;

/** The last word of a stream that ends before the run. Clients come back by themselves; with `soon`, right away. */
export const farewell = (why: string, back: 'soon' | 'as usual'): string =>
  `${back === 'soon' ? `retry: ${COME_BACK_AFTER_MS}\n` : ''}: ${why}\n\n`;
