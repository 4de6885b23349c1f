import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readings } from '../measures/figures.ts';
import { shortRound, type Client, type ShortSize } from '../measures/short-round.ts';
import type { Deployments } from '../system/deployments.ts';
import {
  startStandalone,
  type MeasuredStandalone,
  type StandaloneRequest,
} from '../system/measured-standalone.ts';
import type { Dimension } from './dimensions.ts';
import { untilIdle } from './until-idle.ts';

/** One size on a standalone of its own: how fast it is once it is as large as that. */
export const measureSize = async (
  request: StandaloneRequest,
  { fill, changes = () => ({}) }: Dimension,
  size: number,
  round: ShortSize,
): Promise<Readings> => {
  const changed = { ...request, ...changes(size) };
  await using folder = await mkdtempDisposable(join(tmpdir(), 'runledger-bench-growth-'));
  const filled = await fillFolder(changed, folder.path, (system) => fill(system, size));
  const data = { folder: folder.path, deployments: filled.deployments };
  await using system = await startStandalone({ ...changed, data });
  await untilIdle(system);
  return await shortRound(system, filled.clients, round);
};

/** What is measured is flushed as asked for. Before, that would only take longer. */
const FILLED_WITH_SYNC = '1s';

interface Filled {
  readonly deployments: Deployments;
  readonly clients: readonly Client[];
}

/** By a standalone that ends when it has nothing to do any more. So the next one starts with all that is stored. */
const fillFolder = async (
  request: StandaloneRequest,
  folder: string,
  fill: (system: MeasuredStandalone) => Promise<readonly Client[]>,
): Promise<Filled> => {
  const data = { folder, deployments: undefined };
  await using system = await startStandalone({ ...request, syncInterval: FILLED_WITH_SYNC, data });
  const clients = await fill(system);
  await untilIdle(system);
  return { deployments: system.deployments, clients };
};
