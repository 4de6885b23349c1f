/** The variables that docker-compose.yml and the files beside it read, from the files themselves. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..', '..');

const DESCRIPTIONS: Readonly<Record<string, string>> = {
  EXECUTOR_CODE:
    'whose code of versions the executor runs, as for gpu-executor; its image needs what that code needs',
  EXECUTOR_CPUS: 'the processors of the executor and its programs together',
  EXECUTOR_GPUS: 'the slots of the executor; with docker-compose.gpu.yml those that nvidia-smi shows',
  EXECUTOR_MEMORY:
    'the memory of the executor and its programs together, with what lies in /tmp and /dev/shm',
  EXECUTOR_NETWORK_ALLOW: 'where programs may connect besides public addresses, as for gpu-executor',
  EXECUTOR_RUN_AS:
    'one user for all programs, such as 1000:1000, who owns the home folder of the image; without it each has one of its own',
  EXECUTOR_SHM:
    'the size of /dev/shm in the container of the executor, where frameworks share tensors between processes',
  EXECUTOR_TMP:
    'the size of /tmp in the container of the executor; programs have their own $TMPDIR on its volume',
  RUNLEDGER_BOARD_PORT: 'the port of the board on this machine, with docker-compose.watch.yml',
  RUNLEDGER_HOST: 'the address of this machine at which the API is published',
  RUNLEDGER_OUTPUT_URL_TTL_S: 'as for gateway and notifier, which both get it',
  RUNLEDGER_PORT: 'the port of the API on this machine',
  RUNLEDGER_PORTS: 'the ports of the two gateways on this machine, with docker-compose.cluster.yml',
  RUNLEDGER_PUBLIC_URL: 'as for gateway and notifier, which both get it',
  RUNLEDGER_SECRETS: 'the folder of the secrets; also of scripts/deploy/compose-secrets.ts, which makes them',
  RUNLEDGER_TRACES_PORT: 'the port of Jaeger on this machine, with docker-compose.watch.yml',
  RUNLEDGER_WEBHOOK_ALLOW: 'as for gateway, gpu-executor and notifier, which all get it',
};

export interface ComposeVariable {
  readonly name: string;
  /** With the defaults of the variables in it. */
  readonly preset: string;
  readonly description: string;
}

/**
 * Sorted by name.
 * @throws Error that names a variable without a description, one with two defaults, or a description without a variable
 */
export const composeVariables = (): readonly ComposeVariable[] => {
  const presets = presetsIn(globSync('docker-compose*.yml', { cwd: ROOT }).toSorted());
  const unused = Object.keys(DESCRIPTIONS).filter((name) => !presets.has(name));
  if (unused.length > 0)
    throw new Error(
      `No compose file reads ${unused.join(', ')}: remove the description in compose-variables.ts.`,
    );
  return [...presets]
    .map(([name, preset]) => ({ name, preset, description: describe(name) }))
    .toSorted((one, other) => (one.name < other.name ? -1 : 1));
};

const describe = (name: string): string => {
  const description = DESCRIPTIONS[name];
  if (description === undefined)
    throw new Error(`A compose file reads ${name}: say in compose-variables.ts what it is for.`);
  return description;
};

const presetsIn = (files: readonly string[]): ReadonlyMap<string, string> => {
  const presets = new Map<string, string>();
  for (const file of files) {
    let text = readFileSync(join(ROOT, file), 'utf8');
    // From the inside out, because a default may contain another variable.
    for (let inner = ''; inner !== text;) {
      inner = text;
      text = text.replaceAll(/\$\{(\w+):-([^${}]*)\}/g, (_all, name: string, preset: string) => {
        const other = presets.get(name);
        if (other !== undefined && other !== preset)
          throw new Error(
            `${name} is ${other} in one compose file and ${preset} in ${file}: use one default.`,
          );
        presets.set(name, preset);
        return preset;
      });
    }
  }
  return presets;
};
