import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { freePort } from '@runledger/local-servers/free-port';
import { messageOf } from '@runledger/resilience/errors';
import type * as Testcontainers from 'testcontainers';

/** The time limit of a first build, with its downloads, and the start of all containers. */
const STARTED_WITHIN_MS = 15 * 60_000;
const OPERATOR_SEED = '/run/secrets/nats-operator';

/** The image of the runledger command; docker-compose.yml builds it by this name. */
export const CLI_IMAGE = 'runledger/cli:0.1.0';

// Loaded on first use, because it is large and most test runs do not need it.
const testcontainers = (): Promise<typeof Testcontainers> => import('testcontainers');

/** The reason why this machine cannot run containers; undefined if it can. */
export const whyNoContainers = async (): Promise<string | undefined> => {
  const { getContainerRuntimeClient } = await testcontainers();
  try {
    await getContainerRuntimeClient();
    return undefined;
  } catch (error) {
    return `there is no Docker engine (${messageOf(error)})`;
  }
};

export interface InstallationOptions {
  /** The root of the repository, with docker-compose.yml. */
  readonly root: string;
  /** The folder with the files of scripts/deploy/compose-secrets.ts. */
  readonly secrets: string;
}

/** The containers of docker-compose.yml, from newly built images. Dispose removes them and their data. */
export interface Installation extends AsyncDisposable {
  /** The URL of the API, with its base path. */
  readonly url: string;
  /** Runs a command of the operator in its image, and returns its output. */
  readonly runledger: (args: readonly string[]) => Promise<string>;
}

/** Builds the images, starts all containers, and waits until they are healthy. */
export const openInstallation = async ({ root, secrets }: InstallationOptions): Promise<Installation> => {
  const { DockerComposeEnvironment, Wait } = await testcontainers();
  const project = `runledger-test-${randomUUID()}`;
  const port = await freePort();
  const started = await new DockerComposeEnvironment(root, 'docker-compose.yml')
    .withProjectName(project)
    .withBuild()
    .withEnvironment({ RUNLEDGER_SECRETS: secrets, RUNLEDGER_PORT: String(port) })
    .withDefaultWaitStrategy(Wait.forHealthCheck())
    .withStartupTimeout(STARTED_WITHIN_MS)
    .up();
  return {
    url: `http://127.0.0.1:${port}/api`,
    runledger: (args) => runCommand(project, secrets, args),
    [Symbol.asyncDispose]: async () => void (await started.down({ removeVolumes: true })),
  };
};

/** Like `docker compose run --rm runledger`, on the network of the broker. */
const runCommand = async (project: string, secrets: string, args: readonly string[]): Promise<string> => {
  const { GenericContainer, Wait } = await testcontainers();
  const source = join(secrets, 'nats', 'keys', 'operator.nk');
  const ended = await new GenericContainer(CLI_IMAGE)
    .withNetworkMode(`${project}_broker`)
    .withCopyFilesToContainer([{ source, target: OPERATOR_SEED, mode: 0o444 }])
    .withEnvironment({ RUNLEDGER_NATS_URL: 'nats://nats:4222', RUNLEDGER_NATS_NKEY_FILE: OPERATOR_SEED })
    .withCommand([...args])
    .withWaitStrategy(Wait.forOneShotStartup())
    .start();
  return text(await ended.logs());
};
