import { nameLostRunsIn } from '@runledger/gateway/views/name-lost-runs';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { describeLost, untilWhole } from '@runledger/event-log/provision/lost-facts';
import type { Views } from './database.ts';

interface WholeLogOptions {
  readonly views: Views;
  readonly print: (line: string) => void;
  readonly stopping: AbortSignal;
}

const MAX_NAMED_RUNS = 20;

/** Returns at once as a rule. Of a log that has lost facts it says whose they were, and waits until an operator does without them. */
export const awaitWholeLog = (log: EventLog, { views, print, stopping }: WholeLogOptions): Promise<void> =>
  untilWhole(log, stopping, async (lost, isFirst) => {
    if (!isFirst) return;
    const sentence = describeLost(lost);
    print(
      `${sentence.slice(0, 1).toUpperCase()}${sentence.slice(1)} (in another terminal). This start waits for that.`,
    );
    await nameLostRunsIn(gatewaySettings(views), lost, print, MAX_NAMED_RUNS);
  });

const gatewaySettings = (views: Views): Parameters<typeof nameLostRunsIn>[0] =>
  views.kind === 'sqlite'
    ? { RUNLEDGER_VIEWS: 'sqlite', RUNLEDGER_VIEWS_FILE: views.file, MONGODB_URL: '' }
    : { RUNLEDGER_VIEWS: 'mongodb', RUNLEDGER_VIEWS_FILE: '', MONGODB_URL: views.url };
