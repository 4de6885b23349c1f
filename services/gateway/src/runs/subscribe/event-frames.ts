import { answerJson } from '@runledger/contracts/numbers/long-integers';
import type { RunFactEvent, RunProgressEvent } from '@runledger/contracts/http/runs/run-events';

/** Encoded once for all streams of a run: the outputs may be large, and many streams may wait for slow clients. */
const finalFrames = new WeakMap<RunFactEvent, Buffer>();

/** A fact as a server-sent event: the same bytes for each stream of the run, while it runs and after its end. */
export const factFrame = (fact: RunFactEvent): string | Buffer => {
  if (!fact.finished) return framed(fact);
  const frame = finalFrames.get(fact) ?? Buffer.from(framed(fact));
  finalFrames.set(fact, frame);
  return frame;
};

const framed = (fact: RunFactEvent): string =>
  `id: ${fact.sequence}\nevent: fact\ndata: ${answerJson(fact)}\n\n`;

/** Without an id, so that the client's `Last-Event-ID` stays that of the last fact. */
export const progressFrame = (progress: RunProgressEvent): string =>
  `event: progress\ndata: ${JSON.stringify(progress)}\n\n`;

/** Keeps the connection alive. */
export const COMMENT = ': waiting\n\n';

const RECONNECT_AFTER_MS = 1_000;

/** The last frame of a stream that ends before its run. Clients reconnect by themselves; with `soon`, after a second. */
export const endFrame = (why: string, reconnect: 'soon' | 'as usual'): string =>
  `${reconnect === 'soon' ? `retry: ${RECONNECT_AFTER_MS}\n` : ''}: ${why}\n\n`;
