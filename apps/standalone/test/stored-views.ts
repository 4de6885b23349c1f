import { MongoClient } from 'mongodb';
import { expect } from 'vitest';
import { ownMongo } from '@runledger/testing/mongo';
import { waitFor } from '@runledger/testing/wait-for';
import { historiesOf } from './log-of.ts';
import type { RunShown } from './run-api.ts';

/** Where a standalone of a test keeps its run views. */
export interface StoredViews extends AsyncDisposable {
  /** What to add to the environment of the standalone. */
  readonly env: Readonly<Record<string, string>>;
  /** Ends the database as a power cut would, and starts it again on its data. */
  readonly kill9AndRestart: () => Promise<void>;
  /** Every stored view comes to be what the log of its run folds to. */
  readonly equalTheLog: (dataFolder: string, runs: readonly RunShown[]) => Promise<void>;
}

interface StoredView {
  readonly _id: string;
  readonly head: number;
  readonly run: string;
  readonly webhook_head: number;
  readonly webhook: string | null;
  readonly webhook_status: string | null;
}

/** Views in the memory of the gateway: nothing is stored that could be killed or compared. */
export const viewsInMemory = (): StoredViews => ({
  env: {},
  kill9AndRestart: async () => undefined,
  equalTheLog: async () => undefined,
  [Symbol.asyncDispose]: async () => undefined,
});

/** Views in a MongoDB of the test's own, or why this machine has none that may be killed. */
export const viewsInMongo = async (): Promise<StoredViews | string> => {
  const mongo = await ownMongo();
  if (mongo.kind === 'unavailable') return mongo.reason;
  const url = new URL(mongo.url);
  url.pathname = '/runledger';
  return {
    env: { MONGODB_URL: url.href },
    kill9AndRestart: async () => {
      await mongo.kill9();
      await mongo.restart();
    },
    equalTheLog: async (dataFolder, runs) => {
      const histories = await historiesOf(dataFolder, runs);
      await using client = new MongoClient(mongo.url);
      const views = client.db('runledger').collection<StoredView>('run_views');
      for (const { run, history, webhook } of histories) {
        const heads = { head: history.head, webhook_head: webhook?.head ?? 0 };
        const view = await waitFor(`the view of run ${run.run_id} at ${JSON.stringify(heads)}`, () =>
          views.findOne({ _id: run.run_id, ...heads }),
        );
        expect(JSON.parse(view.run)).toEqual(run);
        expect(view.webhook === null ? undefined : JSON.parse(view.webhook)).toEqual(webhook?.webhook);
        const status = run.request.webhook === null ? null : (webhook?.webhook?.status ?? 'not-started');
        expect(view.webhook_status).toBe(status);
      }
    },
    [Symbol.asyncDispose]: () => mongo[Symbol.asyncDispose](),
  };
};
