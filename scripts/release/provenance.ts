export interface Artifact {
  readonly name: string;
  /** In hex. */
  readonly sha256: string;
}

export interface ReleaseMaker {
  /** A URI of who makes the release: of a person (`mailto:`), or of a workflow of CI. */
  readonly builder: string;
  /** The URI of the repository. */
  readonly source: string;
  readonly commit: string;
  readonly version: string;
  /** ISO 8601. */
  readonly startedOn: string;
  readonly finishedOn: string;
}

/**
 * An in-toto statement with SLSA provenance (https://slsa.dev/spec/v1.0/provenance): which files were made from which commit, by
 * whom. It is a claim: only a signature proves who makes it.
 */
export const provenanceOf = (
  { builder, source, commit, version, startedOn, finishedOn }: ReleaseMaker,
  subjects: readonly Artifact[],
  dependencies: readonly Artifact[],
): object => ({
  _type: 'https://in-toto.io/Statement/v1',
  subject: subjects.map(({ name, sha256 }) => ({ name, digest: { sha256 } })),
  predicateType: 'https://slsa.dev/provenance/v1',
  predicate: {
    buildDefinition: {
      buildType: `${source}#scripts/release/make-release.ts`,
      externalParameters: { source, version },
      resolvedDependencies: [
        { uri: `git+${source}@${commit}`, digest: { gitCommit: commit } },
        ...dependencies.map(({ name, sha256 }) => ({ name, digest: { sha256 } })),
      ],
    },
    runDetails: { builder: { id: builder }, metadata: { startedOn, finishedOn } },
  },
});
