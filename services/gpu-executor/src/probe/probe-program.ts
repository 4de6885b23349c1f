// What the executor starts at its start as it starts programs of runs: a victim, and then a hostile program of another organisation, which tries
// everything on it and prints what it reached.
import { constants, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { call, KEYRINGS, ownVictim, SECRET, type Shared, type Target } from './attack.ts';
import { ATTACKS } from './attacks.ts';

const [role, argument = '', file = ''] = process.argv.slice(2);
const [PAGE, CREATE, REMOVE, READ_WRITE_CREATE] = [4096, 0o1644, 0, constants.O_RDWR | constants.O_CREAT];

const say = (what: unknown, then = (): void => undefined): void =>
  void process.stdout.write(`${JSON.stringify(what)}\n`, then);

/** It has what the attack is for, as far as it can, until its input ends. */
const beVictim = async ({ key, memory, keyName, socket }: Shared): Promise<void> => {
  writeFileSync(file, SECRET, { mode: 0o644 });
  const segment = call('shmget', key, PAGE, CREATE);
  const semaphores = call('semget', key, 1, CREATE);
  const queue = call('msgget', key, CREATE);
  call('mq_open', memory, READ_WRITE_CREATE, 0o644, null);
  for (const keyring of Object.values(KEYRINGS))
    call('add_key', 'user', keyName, Buffer.from(SECRET), SECRET.length, keyring);
  const ofMemory = join('/dev/shm', memory);
  try {
    writeFileSync(ofMemory, SECRET);
  } catch {
    // It has no shared memory.
  }
  const server = createServer();
  await new Promise((resolve) =>
    server.once('listening', resolve).once('error', resolve).listen(`\0${socket}`),
  );
  say(ownVictim());
  process.stdin.resume().once('end', () => {
    if (segment >= 0) call('shmctl', segment, REMOVE, null);
    if (semaphores >= 0) call('semctl', semaphores, 0, REMOVE, 0);
    if (queue >= 0) call('msgctl', queue, REMOVE, null);
    call('mq_unlink', memory);
    rmSync(ofMemory, { force: true });
    process.exit();
  });
};

const attack = async (target: Target): Promise<void> => {
  const reached: string[] = [];
  for (const { can, tries } of ATTACKS) {
    try {
      if (await tries(target)) reached.push(can);
    } catch {
      // It was refused, or there is no such thing here.
    }
  }
  // Whatever is still open.
  say(reached, () => process.exit());
};

/* eslint-disable typescript/no-unsafe-type-assertion -- it comes from the executor that starts this program */
if (role === 'victim') await beVictim(JSON.parse(argument) as Shared);
else await attack(JSON.parse(argument) as Target);
