import type { Machine } from '@runledger/contracts/http/catalogue/machines';
import type { WorkflowVersion } from '@runledger/contracts/http/catalogue/workflows';
import type { Runner } from '@runledger/contracts/catalogue/runners';
import type { JsonValue } from '@runledger/contracts/json';
import type { Client } from '../command/command-context.ts';
import { CommandError, plain } from '../command/command-error.ts';
import { deploymentSettingsOf, type DeploymentSettings, type SettingMembers } from './deployment-settings.ts';
import { runnerOf, type RunnerOptions } from './machines.ts';
import { checkWorkflow } from './plan-machine.ts';
import { planVersion, randomSeeds, type VersionPlan } from './plan-version.ts';

export interface DeployOptions extends RunnerOptions, DeploymentSettings {
  readonly name?: string;
  readonly gpu?: string;
  /** False with `--no-inputs`. */
  readonly inputs?: string | false;
  readonly machine?: string;
  readonly randomSeeds?: boolean;
  readonly message?: string;
  readonly dryRun?: boolean;
}

/** What is deployed: a workflow file, or a folder with code. It is read, and right as far as this machine can say. */
export interface Deployable {
  readonly name: string;
  /** Of its machine. */
  readonly gpu: string | undefined;
  /** Of the deployment. */
  readonly settings: SettingMembers;
  readonly runner: Runner | undefined;
  /** @throws CommandError for a runner that can never execute it */
  readonly checkRunner: (runner: Runner) => void;
  /** `present`: the version to compare with. */
  readonly plan: (present: WorkflowVersion | undefined) => Promise<VersionPlan>;
  /** What a person should know of it once it is deployed. */
  readonly tell: (machine: Machine, version: WorkflowVersion) => void;
}

/** @throws CommandError */
export const workflowFile = async (
  client: Client,
  file: string,
  options: DeployOptions,
): Promise<Deployable> => {
  const { readJsonFile } = client;
  const { name, gpu, inputs, message, randomSeeds: withSeeds = false } = options;
  if (name === undefined)
    throw new CommandError(
      'A workflow file has no name of its own. Give the deployment one with --name NAME.',
    );
  const runner = runnerOf(options);
  if (runner !== undefined && options.machine !== undefined)
    throw new CommandError('A machine that exists has its runner. Use --machine or a runner, not both.');
  const settings = deploymentSettingsOf(options);
  const workflow = await readJsonFile('FILE', file);
  const given = typeof inputs === 'string' ? await readJsonFile('--inputs', inputs) : undefined;
  return {
    name,
    gpu,
    settings,
    runner,
    checkRunner: ({ kind }) => checkWorkflow(workflow, kind),
    plan: async (present) =>
      planVersion(client, present, {
        workflow,
        inputs: inputs === false ? [] : given,
        randomSeeds: withSeeds,
        message,
      }),
    tell: ({ runner }, version) => {
      if (runner.kind === 'comfyui') tellFixedSeeds(client, workflow, version.inputs, '--random-seeds');
    },
  };
};

/** ComfyUI's page and ComfyUI Deploy draw another one for each run. `how`: what makes them inputs. */
export const tellFixedSeeds = (
  { screen }: Client,
  workflow: JsonValue,
  inputs: WorkflowVersion['inputs'],
  how: string,
): void => {
  const seeds = randomSeeds(workflow, inputs);
  const fixed = seeds
    .filter(({ node }) => node !== undefined)
    .map(({ node, field }) => `${field} of node ${node}`);
  const hidden = seeds.filter(({ node }) => node === undefined).map(({ name }) => name);
  if (fixed.length > 0)
    screen.hint(
      `Each run has the same ${plain(fixed.join(', '))}. With ${how} each draws another one, and shows it.`,
    );
  if (hidden.length > 0)
    screen.hint(
      `Nobody is shown which ${plain(hidden.join(', '))} a run draws. With ${how} it is an input of the run.`,
    );
};
