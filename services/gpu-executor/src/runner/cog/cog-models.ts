import { isJsonObject, parsePlainJson } from '@runledger/contracts/json';
import { COG_MODEL_NAME } from '@runledger/contracts/runners/cog';
import type { ConfigProblem } from '@runledger/service-kit/config/config';
import { readServerEntry } from '../model-server/server-entry.ts';
import { readOrganisations } from '../../runners/operator-command.ts';
import { portOf, type CogModel } from './server/cog-server.ts';

export type ReadModels =
  | { readonly ok: true; readonly models: readonly CogModel[] }
  | { readonly ok: false; readonly problems: readonly ConfigProblem[] };

const NAME = new RegExp(COG_MODEL_NAME);
const MAX_PORT = 65_535;

/** Reads `EXECUTOR_COG` and finds each command. */
export const readModels = async (setting: string, path: string, slots: number): Promise<ReadModels> => {
  const entries = parsePlainJson(setting);
  if (!isJsonObject(entries)) return invalid(['is not a JSON object']);
  const read = await Promise.all(
    Object.entries(entries).map(async ([name, entry]) => readModel(name, entry, path)),
  );
  const models = read.filter((model) => typeof model !== 'string');
  const wrong = [
    ...read.filter((model) => typeof model === 'string'),
    ...models.flatMap((model, index) => portProblems(model, models.slice(0, index), slots)),
  ];
  return wrong.length > 0 ? invalid(wrong) : { ok: true, models };
};

const readModel = async (name: string, entry: unknown, path: string): Promise<CogModel | string> => {
  const model = `has the model ${JSON.stringify(name)}`;
  if (!NAME.test(name))
    return `${model}, whose name is not 1 to 64 letters, digits, dots, dashes or underscores`;
  const server = await readServerEntry(entry, path);
  if (typeof server === 'string') return `${model}, ${server}`;
  if (server.command !== null && 'PORT' in server.command.env)
    return `${model}, whose env has PORT, which the executor sets to the port of url`;
  const organisations = isJsonObject(entry) ? readOrganisations(entry) : null;
  return typeof organisations === 'string'
    ? `${model}, ${organisations}`
    : { name, organisations, ...server };
};

/** Each slot has a server of its own, on ports one after the other. A slot keeps one server, so two models may have the same ports. */
const portProblems = (model: CogModel, others: readonly CogModel[], slots: number): string[] => {
  if (model.command === null) return [];
  const port = portOf(model.url);
  if (port + slots - 1 > MAX_PORT) return [`has the model "${model.name}", whose last slot has no port`];
  return others
    .filter(({ command, url }) => {
      const between = Math.abs(portOf(url) - port);
      return command !== null && url.hostname === model.url.hostname && between > 0 && between < slots;
    })
    .map(
      ({ name }) =>
        `has the models "${name}" and "${model.name}", whose ports overlap: they need the same port, or ${slots} between them, one for each slot`,
    );
};

const invalid = (wrong: readonly string[]): ReadModels => ({
  ok: false,
  problems: wrong.map((each) => ({
    variable: 'EXECUTOR_COG',
    wrong: each,
    right:
      '{"NAME": {"url": "http://127.0.0.1:5000", "command": "…", "args": […], "env": {…}, "cwd": "…"}}; ' +
      'without a command the server runs anyway; with "organisations": ["…"] it is not for all',
  })),
});
