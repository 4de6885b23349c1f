import { EventParser } from '@runledger/client/source';
import { RunFactEvent } from '@runledger/contracts/http/runs/run-events';
import { sleep } from '@runledger/resilience/abort';
import { compiledSchema } from '@runledger/contracts/compiled-schema';
import { now } from '../cluster/clock.ts';
import { reasonOf, send } from './api.ts';
import type { RunStream, StreamedFact } from './client-records.ts';

const Fact = compiledSchema(RunFactEvent);

/** A paused gateway sends nothing and keeps the connection open, so the client moves on. Comments come every 15 s. */
const IDLE_TIMEOUT_MS = 20_000;
const RECONNECT_AFTER_MS = 500;

export interface StreamRequest {
  readonly run: string;
  readonly apiKey: string;
  /** A gateway for the next connection. */
  readonly gateway: () => string;
  /** Aborts when the client gives up. */
  readonly signal: AbortSignal;
}

/** Streams a run to its end as a browser does: after a disconnect it continues after the last event, at any gateway. */
export const streamRun = async (request: StreamRequest): Promise<RunStream> => {
  const { run, signal } = request;
  const facts: StreamedFact[] = [];
  const connections: RunStream['connections'][number][] = [];
  let complete = false;
  while (!complete && !signal.aborted) {
    const gateway = request.gateway();
    const from = now();
    const after = facts.at(-1)?.id ?? null;
    const how = await readStream(request, gateway, after, facts).catch(reasonOf);
    connections.push({ gateway, from, to: now(), after, how });
    complete = how === NO_MORE_EVENTS || facts.at(-1)?.fact.finished === true;
    if (!complete) await sleep(RECONNECT_AFTER_MS, signal);
  }
  return { run, facts, connections, complete };
};

const NO_MORE_EVENTS = 'no more events';

/** Resolves with how the connection ended. */
const readStream = async (
  { run, apiKey, signal }: StreamRequest,
  gateway: string,
  after: string | null,
  facts: StreamedFact[],
): Promise<string> => {
  const idle = new AbortController();
  const timeout = setTimeout(
    () => idle.abort(new Error('the stream was idle for too long')),
    IDLE_TIMEOUT_MS,
  );
  try {
    const response = await send(`${gateway}/run/${run}/events`, {
      apiKey,
      headers: after === null ? {} : { 'last-event-id': after },
      signal: AbortSignal.any([signal, idle.signal]),
    });
    if (response.status === 204 || response.body === null) return NO_MORE_EVENTS;
    if (response.status !== 200) return `it answered ${response.status}`;
    const text = response.body.pipeThrough(new TextDecoderStream());
    const parser = new EventParser();
    for await (const piece of text) {
      timeout.refresh();
      for (const { event, id, data } of parser.feed(piece)) {
        if (event !== 'fact') continue;
        const fact: unknown = JSON.parse(data);
        if (!Fact.Check(fact)) throw new Error(`not a fact: ${data.slice(0, 300)}`);
        facts.push({ at: now(), id: id ?? null, fact });
      }
    }
    return 'it closed the stream';
  } finally {
    clearTimeout(timeout);
  }
};
