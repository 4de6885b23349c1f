import type { Command } from 'commander';
import { addRunnerOptions, gpuOption } from '../catalogue/machines.ts';
import { addDeploymentSettings } from '../catalogue/deployment-settings.ts';
import type { CommandContext } from '../command/command-context.ts';
import { deploy } from './deploy.ts';
import type { DeployOptions } from './deploy.ts';

/** The command that makes a workflow file ready for runs. */
export const addDeployCommand = (program: Command, { client, end, add }: CommandContext): void => {
  addDeploymentSettings(
    addRunnerOptions(
      add(program, 'deploy <file>', 'make or update a deployment of a workflow file, with all that it needs')
        .requiredOption('--name <name>', 'of the deployment, its workflow and its machine')
        .addOption(gpuOption())
        .option(
          '--inputs <file>',
          'the list of its inputs as JSON: their names, types and defaults; those of the present version by default',
        )
        .option('--no-inputs', 'a version that defines no inputs')
        .option(
          '--random-seeds',
          'another seed for each run, for the seeds of the workflow that no input gives',
        )
        .option('--machine <machine>', 'an existing machine, instead of one with the same name'),
    ),
  ).action(async (file: string, options: DeployOptions) => end(await deploy(await client(), file, options)));
};
