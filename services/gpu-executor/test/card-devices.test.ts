import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { cardDevices, makeCudaDevice } from '../src/card-devices.ts';

const aMachine = (...devices: string[]) => {
  const folder = mkdtempSync(join(tmpdir(), 'card-devices-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const places = { devices: join(folder, 'dev'), driver: join(folder, 'driver') };
  for (const path of [places.devices, join(folder, 'bin')]) mkdirSync(path);
  for (const name of devices) writeFileSync(join(places.devices, name), '');
  const called = join(folder, 'called');
  return {
    places,
    path: join(folder, 'bin'),
    /** A stand-in for NVIDIA's program, which needs a driver. */
    install: (script: string): void =>
      writeFileSync(
        join(folder, 'bin/nvidia-modprobe'),
        `#!/bin/sh\necho "$@" >>'${called}'\ncd '${places.devices}'\n${script}\n`,
        { mode: 0o755 },
      ),
    called: (): string => (existsSync(called) ? readFileSync(called, 'utf8') : ''),
  };
};

describe('the devices of cards', () => {
  it('are those of all drivers, with the folders of parts of cards', () => {
    const { places } = aMachine(
      'nvidia0',
      'nvidiactl',
      'nvidia-uvm',
      'nvidia-uvm-tools',
      'kfd',
      'dxg',
      'sda',
    );
    for (const name of ['nvidia-caps', 'dri']) mkdirSync(join(places.devices, name));
    const found = cardDevices(places.devices).map((path) => path.slice(places.devices.length + 1));
    const nvidia = ['nvidia-caps', 'nvidia-uvm', 'nvidia-uvm-tools', 'nvidia0', 'nvidiactl'];
    expect(found.toSorted()).toEqual(['dri', 'dxg', 'kfd', ...nvidia]);
  });
});

describe("CUDA's own device", () => {
  it('is made by the program of the driver when it alone is missing', () => {
    const { places, path, install, called } = aMachine('nvidiactl', 'nvidia0');
    install(': >nvidia-uvm; : >nvidia-uvm-tools');
    expect(makeCudaDevice(path, places)).toBeNull();
    expect(cardDevices(places.devices)).toHaveLength(4);
    expect(makeCudaDevice(path, places)).toBeNull();
    expect(called()).toBe('-c0 -u\n');
  });

  it('is made where the driver is loaded and has no device yet', () => {
    const { places, path, install } = aMachine();
    mkdirSync(places.driver);
    install(': >nvidia-uvm');
    expect(makeCudaDevice(path, places)).toBeNull();
    expect(cardDevices(places.devices)).toHaveLength(1);
  });

  it('is of no interest on a machine without the driver', () => {
    const { places, path, install, called } = aMachine('kfd');
    install(': >nvidia-uvm');
    expect(makeCudaDevice(path, places)).toBeNull();
    expect(called()).toBe('');
  });

  it('is said to be missing where that program is, or fails, with what to do', () => {
    const { places, path, install } = aMachine('nvidiactl');
    const missing = makeCudaDevice(path, places);
    expect(missing).toContain('dev/nvidia-uvm is not, so CUDA finds no card');
    expect(missing).toMatch(/cannot be run \(ENOENT\)\. As root run "modprobe nvidia-uvm"/);
    install('echo "not permitted" >&2; exit 1');
    expect(makeCudaDevice(path, places)).toContain('did not make it (exit code 1) not permitted. As root');
  });
});
