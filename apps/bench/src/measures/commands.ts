import { join } from 'node:path';
import { commandCost, quantile } from '@runledger/testing/measuring';
import type { MeasuredStandalone } from '../system/measured-standalone.ts';
import type { Readings } from './figures.ts';

const TIMES = 5;

/** What commands take that people and scripts start often: the median of a few turns. `run` has ended. */
export const commands = async (system: MeasuredStandalone, run: string): Promise<Readings> => ({
  ...(await command(system, 'cli.help', ['--help'])),
  ...(await command(system, 'cli.get', ['get', run])),
});

const command = async (
  { checkout, folder, environment }: MeasuredStandalone,
  figure: string,
  args: readonly string[],
): Promise<Readings> => {
  const file = join(checkout, 'apps/cli/bin/runledger.mjs');
  const env = { ...environment, RUNLEDGER_DATA_DIR: folder };
  const costs = [];
  for (let turn = 0; turn < TIMES; turn += 1)
    costs.push(await commandCost([process.execPath, file, ...args], env));
  return {
    [figure]: quantile(
      costs.map(({ wallMs }) => wallMs),
      0.5,
    ),
    [`${figure}.cpu`]: quantile(
      costs.map(({ processorMs }) => processorMs),
      0.5,
    ),
  };
};
