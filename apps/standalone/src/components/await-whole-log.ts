import { nameLostRunsIn } from '@runledger/gateway/projection/stores/name-lost-runs';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { describeLost, lostFacts } from '@runledger/event-log/provision/lost-facts';
import { sleep } from '@runledger/resilience/abort';
import type { Views } from './database.ts';

interface WholeLogOptions {
  readonly views: Views;
  readonly print: (line: string) => void;
  readonly stopping: AbortSignal;
}

const ASK_AGAIN_AFTER_MS = 1_000;
const MAX_NAMED_RUNS = 20;

/** Returns at once as a rule. Of a log that has lost facts it says whose they were, and waits until an operator does without them. */
export const awaitWholeLog = async (
  log: EventLog,
  { views, print, stopping }: WholeLogOptions,
): Promise<void> => {
  for (let isTold = false; ; isTold = true) {
    const lost = await lostFacts(log);
    if (lost === undefined) return;
    if (!isTold) {
      const sentence = describeLost(lost);
      print(
        `${sentence.slice(0, 1).toUpperCase()}${sentence.slice(1)} (in another terminal). This start waits for that.`,
      );
      await nameLostRunsIn(gatewaySettings(views), lost, { say: print, atMost: MAX_NAMED_RUNS });
    }
    await sleep(ASK_AGAIN_AFTER_MS, stopping);
    stopping.throwIfAborted();
  }
};

const gatewaySettings = (views: Views): Parameters<typeof nameLostRunsIn>[0] =>
  views.kind === 'sqlite'
    ? { RUNLEDGER_VIEWS: 'sqlite', RUNLEDGER_VIEWS_FILE: views.file, MONGODB_URL: '' }
    : { RUNLEDGER_VIEWS: 'mongodb', RUNLEDGER_VIEWS_FILE: '', MONGODB_URL: views.url };
