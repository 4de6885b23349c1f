import type { Client } from '../api-client/client.ts';
import { at } from '../api-client/api-call.ts';
import { Unavailable } from '../api-client/api-problem.ts';
import { ShownRun } from '../api-client/run-responses.ts';
import { retryForAMinute } from '../api-client/retry-for-a-minute.ts';
import { deployments } from './deployments.ts';
import { readRecord } from './records.ts';
import { versionsOf } from './workflow-versions.ts';
import { CommandError } from '../output/command-error.ts';

/** The types of inputs by their names, as a version declares them. */
export type DeclaredTypes = ReadonlyMap<string, string>;

interface NamedVersion {
  readonly workflow_id?: string;
  readonly workflow_version_id?: string;
}

/** Of the version that a deployment has now. */
export const typesOfDeployment = (client: Client, id: string): Promise<DeclaredTypes> =>
  unlessRefused(client, async () => typesOf(client, await readRecord(client.call, deployments, id)));

/** Of the version that a run has. */
export const typesOfRun = (client: Client, run: string): Promise<DeclaredTypes> =>
  unlessRefused(client, async () =>
    typesOf(client, await client.call(ShownRun, { method: 'GET', path: at`/run/${run}` })),
  );

const typesOf = async (
  { call }: Client,
  { workflow_id, workflow_version_id }: NamedVersion,
): Promise<DeclaredTypes> => {
  if (workflow_id === undefined || workflow_version_id === undefined) return new Map();
  const { inputs } = await readRecord(call, versionsOf(workflow_id), workflow_version_id);
  return new Map(inputs.map(({ name, type }) => [name, type]));
};

/** Without them a value has the type that it looks like. What is wrong, the request that follows is refused for. */
const unlessRefused = async (
  { screen }: Client,
  read: () => Promise<DeclaredTypes>,
): Promise<DeclaredTypes> => {
  try {
    return await retryForAMinute(read, screen);
  } catch (error) {
    if (error instanceof CommandError && !(error instanceof Unavailable)) return new Map();
    throw error;
  }
};
