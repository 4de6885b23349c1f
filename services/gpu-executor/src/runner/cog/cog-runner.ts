import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { removeTree } from '../../folders/remove-tree.ts';
import type { Executed } from '../model-server/executed.ts';
import { runOnServer } from '../model-server/run-on-server.ts';
import type { Runner } from '../../runners/runner.ts';
import { executePrediction } from './prediction/execute-prediction.ts';
import type { PredictionTask } from './prediction/prediction-result.ts';
import { PREDICTIONS_FOLDER, type CogServer } from './server/cog-server.ts';

export interface CogRunnerSettings {
  /** By the names of their models, and the indexes of the slots. */
  readonly models: ReadonlyMap<string, ReadonlyMap<number, CogServer>>;
  readonly workFolder: string;
  readonly cancelGraceMs: number;
  readonly startTimeoutMs: number;
  readonly log: { warn(fields: object, message: string): void };
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
