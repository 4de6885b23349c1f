import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { freePort } from '@runledger/local-servers/free-port';
import type * as Testcontainers from 'testcontainers';

/** What a first build, with its downloads, and the start of everything may take. */
const STARTED_WITHIN_MS = 15 * 60_000;
const OPERATOR_SEED = '/run/secrets/nats-operator';

/** The image of the runledger command; docker-compose.yml builds it by this name. */
export const CLI_IMAGE = 'runledger/cli:0.1.0';

// Loaded when it is used, since it is large and most runs do without.
const testcontainers = (): Promise<typeof Testcontainers> => import('testcontainers');

/** Why nothing can be started in containers here; undefined when a Docker engine is there. */
export const whyNoContainers = async (): Promise<string | undefined> => {
  const { getContainerRuntimeClient } = await testcontainers();
  try {
    await getContainerRuntimeClient();
    return undefined;
  } catch (error) {
    return `there is no Docker engine (${error instanceof Error ? error.message : String(error)})`;
  }
};

export interface InstallationOptions {
  /** Of the repository: where docker-compose.yml is. */
  readonly root: string;
  /** The folder with what scripts/deploy/compose-secrets.ts makes. */
  readonly secrets: string;
}

/** What docker-compose.yml describes, in containers of images that were built for it; removed on dispose, with its data. */
export interface Installation extends AsyncDisposable {
  /** Of the API, with its base path. */
  readonly url: string;
  /** Runs an operator's command in its image, and gives what it prints. */
  readonly runledger: (args: readonly string[]) => Promise<string>;
}

/** Builds the images, and starts everything until it is healthy. */
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

/** As `docker compose run --rm runledger` does it, on the network of the broker. */
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
