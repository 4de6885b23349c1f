import { RunFactEvent } from '@runledger/contracts/http/runs/run-events';
import { sleep } from '@runledger/resilience/abort';
import { Compile } from 'typebox/compile';
import type { Clock } from '../cluster/clock.ts';
import type { StreamedFact, RunStream } from './client-records.ts';
import { reasonOf } from './api.ts';
import { frameReader } from './event-frames.ts';

const Fact = Compile(RunFactEvent);

/** A paused gateway says nothing and does not hang up: the client goes to another one. Comments come every 15 s. */
const SILENT_FOR_MS = 20_000;
const AGAIN_AFTER_MS = 500;

export interface StreamRequest {
  readonly run: string;
  readonly apiKey: string;
  /** Another one for each connection. */
  readonly gateway: () => string;
  readonly now: Clock;
  /** When it is given up. */
  readonly signal: AbortSignal;
}

/** Watches a run to its end as a browser would: cut off, it goes on behind the last event, at whatever gateway. */
export const streamRun = async (watch: StreamRequest): Promise<RunStream> => {
  const told: StreamedFact[] = [];
  const connections: RunStream['connections'][number][] = [];
  let complete = false;
  while (!complete && !watch.signal.aborted) {
    const gateway = watch.gateway();
    const from = watch.now();
    const after = told.at(-1)?.id ?? null;
    const how = await listen(watch, gateway, after, told).catch(reasonOf);
    connections.push({ gateway, from, to: watch.now(), after, how });
    complete = how === NOTHING_FOLLOWS || told.at(-1)?.fact.finished === true;
    if (!complete) await sleep(AGAIN_AFTER_MS, watch.signal);
  }
  return { run: watch.run, facts: told, connections, complete };
};

const NOTHING_FOLLOWS = 'nothing follows';

const listen = async (
  { run, apiKey, now, signal }: StreamRequest,
  gateway: string,
  after: string | null,
  told: StreamedFact[],
): Promise<string> => {
  const silent = new AbortController();
  const silence = setTimeout(() => silent.abort(new Error('it said nothing for too long')), SILENT_FOR_MS);
  try {
    const response = await fetch(`${gateway}/run/${run}/events`, {
      headers: { authorization: `Bearer ${apiKey}`, ...(after === null ? {} : { 'last-event-id': after }) },
      signal: AbortSignal.any([signal, silent.signal]),
    });
    if (response.status === 204) return NOTHING_FOLLOWS;
    if (response.status !== 200 || response.body === null) return `it answered ${response.status}`;
    const frames = frameReader();
    for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
      silence.refresh();
      for (const { event, id, data } of frames(text)) {
        if (event !== 'fact') continue;
        const fact: unknown = JSON.parse(data);
        if (!Fact.Check(fact)) throw new Error(`this is no fact: ${data.slice(0, 300)}`);
        told.push({ at: now(), id, fact });
      }
    }
    return 'it closed the stream';
  } finally {
    clearTimeout(silence);
  }
};
