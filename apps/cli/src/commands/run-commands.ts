import { EXIT, Explained } from '../explained.ts';
import type { ExitCode } from '../explained.ts';
import { endSentence, progressSentence } from '../progress-line.ts';
import { plain } from '../plain-text.ts';
import { readInputs } from '../queue-inputs.ts';
import type { ApiConnection } from '../connection.ts';
import type { Cancel, RunApi } from '../run-api.ts';
import type { Screen } from '../screen.ts';
import { hasEnded, outputLines } from '../shown-run.ts';
import { watchRun } from '../watch-run.ts';

/** What the run commands work with. */
export interface Client {
  readonly connection: ApiConnection;
  readonly api: RunApi;
  readonly screen: Screen;
}

export interface QueueOptions {
  readonly input: readonly string[];
  readonly inputs?: string;
  readonly deployment?: string;
  readonly gpu?: string;
  readonly webhook?: string;
  readonly webhookIntermediateStatus?: boolean;
  readonly watch?: boolean;
  readonly json?: boolean;
}

export const queue = async (
  { connection, api, screen }: Client,
  options: QueueOptions,
): Promise<ExitCode> => {
  const deployment = options.deployment ?? connection.deploymentId;
  if (deployment === null)
    throw new Explained(
      'No deployment was named. Add --deployment ID; only a standalone has a sample to fall back on.',
    );
  const { gpu, webhook, webhookIntermediateStatus } = options;
  const queued = await api.queue({
    deployment_id: deployment,
    inputs: readInputs(options.inputs, options.input),
    ...(gpu === undefined ? {} : { gpu }),
    ...(webhook === undefined ? {} : { webhook }),
    ...(webhookIntermediateStatus === undefined
      ? {}
      : { webhook_intermediate_status: webhookIntermediateStatus }),
  });
  if (options.json) screen.printJson(queued);
  else screen.print(queued.run_id);
  if (options.watch) return watchRun(api, queued.run_id, screen, options.json ?? false);
  if (screen.isTerminal && !options.json) screen.hint(`Watch it with: runledger watch ${queued.run_id}`);
  return EXIT.done;
};

export const get = async ({ api, screen }: Client, run: string, json: boolean): Promise<ExitCode> => {
  const shown = await api.get(run);
  if (json) {
    screen.printJson(shown);
    return EXIT.done;
  }
  const rows: [string, string | null][] = [
    ['run', shown.id],
    ['status', hasEnded(shown) ? endSentence(shown) : progressSentence(shown)],
    ['gpu', shown.gpu],
    ['queued', shown.created_at],
    ['started', shown.started_at],
    ['ended', shown.ended_at],
  ];
  for (const [name, value] of rows) if (value !== null) screen.print(`${name.padEnd(8)}  ${plain(value)}`);
  for (const line of outputLines(shown)) screen.print(`${'output'.padEnd(8)}  ${plain(line)}`);
  return EXIT.done;
};

export const cancel = async ({ api, screen }: Client, run: string, json: boolean): Promise<ExitCode> => {
  const answer = await api.cancel(run);
  if (json) screen.printJson(answer);
  else screen.print(cancelSentence(answer));
  return EXIT.done;
};

const cancelSentence = ({ outcome, run_id, status }: Cancel): string => {
  switch (outcome) {
    case 'cancelled':
      return `Run ${run_id} is cancelled.`;
    case 'cancellation_requested':
      return `Run ${run_id} is ${status}; it will be cancelled within the grace period. See it end with: runledger watch ${run_id}`;
    case 'already_ended':
      return `Run ${run_id} had ended before: ${status}. Nothing was changed.`;
  }
};
