import { cog, COG_MODEL_NAME } from '@runledger/contracts/catalogue/runners';
import { seconds } from '@runledger/service-kit/config-schemas';
import { Type } from 'typebox';
import { isJsonObject, parsePlainJson } from '@runledger/contracts/json';
import type { ConfigProblem } from '@runledger/service-kit/config';
import type { RunnerType } from '../runner-type.ts';
import { dedicatedOf, readOrganisations } from '../operator-command.ts';
import { cogRunner } from './cog-runner.ts';
import { openCogServers, portOf, type CogModel } from './cog-server.ts';
import { readServerEntry } from '../model-server/model-server.ts';

const settings = {
  EXECUTOR_COG: Type.String({
    default: '{}',
    description:
      'the Cog model servers as JSON: {"NAME": {"url", "command"?, "args"?, "env"?, "cwd"?, "organisations"?}}; with a command the executor starts one for each slot, with its port in PORT',
  }),
  EXECUTOR_COG_START_TIMEOUT_S: seconds({
    default: 600,
    minimum: 1,
    maximum: 86_400,
    description: 'how long the setup of a Cog model may take, or its server may be busy with something else',
  }),
};

/** Cog models of the executor's own settings. No record of a tenant names their addresses. */
export const cogRunnerType: RunnerType<typeof settings> = {
  kind: 'cog',
  settings,
  configure: async ({ EXECUTOR_COG, EXECUTOR_COG_START_TIMEOUT_S }, { PATH = '', slots }) => {
    const read = await readModels(EXECUTOR_COG, PATH, slots.length);
    if (!read.ok) return { problems: read.problems };
    const startTimeoutMs = EXECUTOR_COG_START_TIMEOUT_S * 1_000;
    return {
      kind: 'cog',
      capabilities: {
        programs: read.models.map(({ name }) => capabilityOf(name)),
        dedicated: dedicatedOf(
          read.models.map(({ name, organisations }) => [capabilityOf(name), organisations]),
        ),
      },
      entries: read.models.flatMap(({ name, command, organisations }) =>
        command === null ? [] : [{ name: `the Cog model ${JSON.stringify(name)}`, command, organisations }],
      ),
      open: (host) => {
        const models = new Map(
          read.models.map((model) => [model.name, openCogServers(model, host, startTimeoutMs)]),
        );
        return {
          ...cogRunner({ ...host, models, startTimeoutMs }),
          outputId: (choice) => (choice.kind === 'cog' ? choice.model : choice.kind),
        };
      },
    };
  },
};

const capabilityOf = (model: string): string => cog.capability({ kind: 'cog', model });

type ReadModels =
  | { readonly ok: true; readonly models: readonly CogModel[] }
  | { readonly ok: false; readonly problems: readonly ConfigProblem[] };

const NAME = new RegExp(COG_MODEL_NAME);
const MAX_PORT = 65_535;

/** Reads `EXECUTOR_COG` and finds each command. */
const readModels = async (setting: string, path: string, slots: number): Promise<ReadModels> => {
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
