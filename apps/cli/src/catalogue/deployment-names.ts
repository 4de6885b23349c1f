import { Deployment, DeploymentPage } from '@runledger/contracts/http/catalogue/deployments';
import { at, type ApiCall } from '../api/api-call.ts';
import { CommandError } from '../command/command-error.ts';

/** As many as one page has. */
const NEWEST = 100;

/** What a table shows of deployments: their names, where they can be read and say which one it is. A list goes on without names. */
export const deploymentNames = async (call: ApiCall): Promise<ReadonlyMap<string, string>> => {
  const page = await unlessRefused(() =>
    call(DeploymentPage, { method: 'GET', path: '/deployments', query: { limit: NEWEST } }),
  );
  const byName = Map.groupBy(page?.deployments ?? [], ({ name }) => name);
  return new Map([...byName].flatMap(([name, [one, ...more]]) => (one && !more[0] ? [[one.id, name]] : [])));
};

/** Its name, and its id; the id alone once it is deleted. */
export const deploymentWords = async (call: ApiCall, id: string): Promise<string> => {
  const found = await unlessRefused(() => call(Deployment, { method: 'GET', path: at`/deployments/${id}` }));
  return found === undefined ? id : `${found.name}  ${id}`;
};

export const unlessRefused = async <Answer>(read: () => Promise<Answer>): Promise<Answer | undefined> => {
  try {
    return await read();
  } catch (error) {
    if (error instanceof CommandError) return undefined;
    throw error;
  }
};
