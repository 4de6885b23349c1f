import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { MessageChannel, Worker, type MessagePort } from 'node:worker_threads';
import type { BrokerConfig } from '@runledger/event-log/connect/broker-config';
import { parseJson } from '@runledger/contracts/json';
import type { RunKey } from '@runledger/contracts/events/subjects';
import type { MessagesOfRun } from '@runledger/event-log/read/read-all-of-run';
import { programFile } from '@runledger/service-kit/program-file';
import type { LogLevel } from '@runledger/service-kit/logger';
import { messageOf } from '@runledger/resilience/errors';
import type { StoredView } from '../run-view.ts';
import type { ViewSettings } from '../open-view-store.ts';
import { ViewsUnavailable, type ComparedViews } from '../run-views.ts';
import type { BuildProgress } from './build-views.ts';
import { inBatches, oneByOne } from './compare-views.decide.ts';
import type { Proved } from './prove-views.ts';

/** What every build has of its gateway. */
export interface BuildSettings {
  readonly config: BrokerConfig & ViewSettings;
  readonly instance: string;
  readonly level: LogLevel;
  /** `VIEW_VERSION`, but in tests. */
  readonly version: number;
}

/** What the thread begins with. */
export interface BuildOrder extends BuildSettings {
  /** Of the next set. */
  readonly derivation: number;
  /** Whether the live set should be equal: it is of this version. */
  readonly isCompared: boolean;
}

type Query =
  | { readonly ask: 'listAll'; readonly after: string; readonly limit: number }
  | { readonly ask: 'load'; readonly keys: readonly RunKey[] }
  /** The next ones of the archive, and none at its end. */
  | { readonly ask: 'archived' };
/** From the thread. */
export type FromBuilder =
  /** Who answers sends one message there, an `Answer`. */
  | { readonly kind: 'query'; readonly query: Query; readonly answer: MessagePort }
  | { readonly kind: 'progress'; readonly progress: BuildProgress }
  | { readonly kind: 'built'; readonly built: Proved };

type Answer =
  /** As JSON: a thread cannot be given numbers that are not doubles. */
  { readonly found: string } | { readonly unavailable: string };

/** What only the process of the gateway has open. */
export interface ParentViews {
  readonly live: ComparedViews;
  readonly archived: AsyncIterable<MessagesOfRun>;
}

/** The same as the thread sees it. */
export const askingParent = (parent: MessagePort): ParentViews => {
  const ask = async <One>(query: Query): Promise<One[]> => {
    const { port1: mine, port2: answer } = new MessageChannel();
    const answered = once(mine, 'message') as Promise<[Answer]>;
    parent.postMessage({ kind: 'query', query, answer } satisfies FromBuilder, [answer]);
    const [found] = await answered;
    mine.close();
    if ('unavailable' in found) throw new ViewsUnavailable(found.unavailable);
    return parseJson(found.found) as One[];
  };
  const archived = async function* (): AsyncGenerator<MessagesOfRun> {
    for (;;) {
      const runs = await ask<MessagesOfRun>({ ask: 'archived' });
      if (runs.length === 0) return;
      yield* runs;
    }
  };
  return {
    live: {
      listAll: ({ after, limit }) => ask<StoredView>({ ask: 'listAll', after, limit }),
      load: (keys) => ask<StoredView>({ ask: 'load', keys }),
    },
    archived: archived(),
  };
};

/** A view is made from the bodies. */
const withoutBytes = ({ life, webhook }: MessagesOfRun): MessagesOfRun => ({
  life: life.map(({ data: _data, ...message }) => message),
  webhook: webhook.map(({ data: _data, ...message }) => message),
});

const ARCHIVED_AT_ONCE = 100;

/** Answers the queries of a thread. */
const answering = ({ live, archived }: ParentViews) => {
  const pages = inBatches(oneByOne(archived), ARCHIVED_AT_ONCE);
  const find = async (query: Query): Promise<readonly unknown[]> => {
    switch (query.ask) {
      case 'listAll':
        return live.listAll(query);
      case 'load':
        return live.load(query.keys);
      case 'archived':
        return ((await pages.next()).value ?? []).map(withoutBytes);
    }
  };
  return async (query: Query): Promise<Answer> => {
    try {
      return { found: JSON.stringify(await find(query)) };
    } catch (error) {
      return { unavailable: messageOf(error) };
    }
  };
};

const PROGRAM = fileURLToPath(new URL('./build-worker.ts', import.meta.url));

/** Builds the next set in a thread of its own. Rejects when that fails, and with the signal's reason when it is stopped. */
export const buildInThread = async (
  order: BuildOrder,
  views: ParentViews,
  signal: AbortSignal,
  onProgress: (progress: BuildProgress) => void,
): Promise<Proved> => {
  signal.throwIfAborted();
  const worker = new Worker(programFile(PROGRAM), { workerData: order });
  const end = Promise.withResolvers<Proved>();
  const stop = (): void => end.reject(signal.reason);
  signal.addEventListener('abort', stop);
  const answerTo = answering(views);
  worker.on('message', (message: FromBuilder) => {
    if (message.kind === 'query')
      void answerTo(message.query).then((answer) => message.answer.postMessage(answer));
    else if (message.kind === 'progress') onProgress(message.progress);
    else end.resolve(message.built);
  });
  worker.on('error', (error) => end.reject(error));
  worker.on('exit', (code) => end.reject(new Error(`the thread that built views ended with ${code}`)));
  try {
    return await end.promise;
  } finally {
    signal.removeEventListener('abort', stop);
    await worker.terminate();
  }
};
