import { cog } from '@runledger/contracts/runners/cog';
import { seconds } from '@runledger/service-kit/config/config-schemas';
import { Type } from 'typebox';
import type { RunnerType } from '../../runners/runner-type.ts';
import { dedicatedOf } from '../../runners/operator-command.ts';
import { readModels } from './cog-models.ts';
import { cogRunner } from './cog-runner.ts';
import { openCogServers } from './server/cog-server.ts';

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
