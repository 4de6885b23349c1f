import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findChromium } from '@runledger/local-servers/chromium';
import type { BrowserContext, Page } from 'playwright-core';
import { environment } from './servers/environment.ts';

export interface Screen {
  /** In CSS pixels. */
  readonly width: number;
  readonly height?: number;
  readonly scheme?: 'light' | 'dark';
}

/** A page of its own, with nothing stored, and what went wrong in it. */
export interface TestPage extends AsyncDisposable {
  readonly page: Page;
  /** The addresses of its requests, in their order. */
  readonly requests: readonly string[];
  /** Errors of scripts, what the console says as a warning or an error, and violations of the Content-Security-Policy. */
  readonly complaints: readonly string[];
}

export interface TestBrowser extends AsyncDisposable {
  readonly kind: 'browser';
  /** Such as `Chromium 153.0.7000.1`. */
  readonly version: string;
  readonly open: (screen: Screen) => Promise<TestPage>;
}

export interface NoBrowser {
  readonly kind: 'unavailable';
  /** What is missing, as a sentence. */
  readonly reason: string;
}

// Without its services, which would look for hosts of the world.
const FLAGS = [
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** A real Chromium without a window: that of `CHROMIUM_BIN` or `PATH`, else one that npm downloads into the cache. */
export const testBrowser = async (): Promise<TestBrowser | NoBrowser> => {
  const found = await findChromium({ env: environment }).catch((error: Error) => error);
  if (found instanceof Error) return { kind: 'unavailable', reason: found.message };
  // Loaded on first use, because it is large and most test runs do not need it.
  const { chromium } = await import('playwright-core');
  const profile = await mkdtemp(join(tmpdir(), 'runledger-browser-'));
  const browser = await chromium.launch({
    executablePath: found.path,
    // A sandbox needs rights that containers lack. The pages are ours.
    chromiumSandbox: false,
    args: FLAGS,
    // Chromium writes beside the home of its user, too.
    env: { ...environment, HOME: profile, ...found.env },
  });
  return {
    kind: 'browser',
    version: found.version,
    open: async ({ width, height = 844, scheme = 'light' }) =>
      observed(await browser.newContext({ viewport: { width, height }, colorScheme: scheme })),
    [Symbol.asyncDispose]: async () => {
      await browser.close();
      await rm(profile, { recursive: true, force: true });
    },
  };
};

const observed = async (context: BrowserContext): Promise<TestPage> => {
  const page = await context.newPage();
  const [requests, complaints]: [string[], string[]] = [[], []];
  page.on('request', (request) => requests.push(request.url()));
  page.on('pageerror', (error) => complaints.push(String(error)));
  // Chromium says there, too, what a policy does not allow.
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  return { page, requests, complaints, [Symbol.asyncDispose]: () => context.close() };
};
