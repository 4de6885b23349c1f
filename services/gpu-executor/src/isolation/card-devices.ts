import { readdirSync } from 'node:fs';
import { join } from 'node:path';

/** NVIDIA, AMD and Intel: what a driver of a graphics card makes. */
const CARD = /^(?:nvidia.*|dri|kfd|dxg)$/;

/** The devices of all graphics cards of the machine. */
export const cardDevices = (): readonly string[] =>
  readdirSync('/dev')
    .filter((name) => CARD.test(name))
    .map((name) => join('/dev', name));
