/**
 * Reporter of a run that may take too long, or lose a worker. At SIGUSR2, which also ends workers of the same process group,
 * it says which tests had not ended, writes the JSON report of those that had, and ends. If a worker has ended, it says how,
 * and which tests it ran.
 */
import { writeFileSync } from 'node:fs';
import type { Reporter, SerializedError, TestCase, TestModule, TestSpecification, Vitest } from 'vitest/node';

export default class Unfinished implements Reporter {
  readonly #running = new Set<TestCase>();
  #files = 0;

  onInit(vitest: Vitest): void {
    process.once('SIGUSR2', () => {
      const modules = vitest.state.getTestModules();
      this.#say('the run was stopped', modules);
      const { outputFile } = vitest.config;
      if (typeof outputFile === 'object' && outputFile['json'] !== undefined)
        writeFileSync(outputFile['json'], JSON.stringify(reportOf(modules)));
      process.exit(1);
    });
  }

  onTestRunStart(specifications: readonly TestSpecification[]): void {
    this.#files = specifications.length;
  }

  onTestRunEnd(modules: readonly TestModule[], errors: readonly SerializedError[]): void {
    for (const { cause } of errors) {
      // vitest says the signal or the exit code, then all files of the worker.
      const [, how] = /^Worker exited unexpectedly (.*?) during/.exec(cause?.message ?? '') ?? [];
      if (how !== undefined) this.#say(`a worker ended ${how}`, modules);
    }
  }

  #say(when: string, modules: readonly TestModule[]): void {
    const lines = [
      ...modules.filter(isOpen).map((file) => this.#lineOf(file)),
      `  ${this.#files - modules.length} of ${this.#files} files had not begun`,
    ];
    process.stdout.write(`\nnot ended when ${when}:\n${lines.join('\n')}\n`);
  }

  onTestCaseReady(test: TestCase): void {
    this.#running.add(test);
  }

  onTestCaseResult(test: TestCase): void {
    this.#running.delete(test);
  }

  #lineOf(file: TestModule): string {
    const tests = [...file.children.allTests()];
    const running = tests.filter((test) => this.#running.has(test)).map(({ fullName }) => `'${fullName}'`);
    const waiting = tests.filter((test) => test.result().state === 'pending').length - running.length;
    // In a hook, or while the file is loaded, no test runs.
    return `  ${file.relativeModuleId}: ${running.join(', ') || 'no test runs'}, ${waiting} more wait`;
  }
}

function isOpen(file: TestModule): boolean {
  return ['queued', 'pending'].includes(file.state());
}

/** As far as it is read. A file that is not loaded counts as a test that has not ended. */
function reportOf(modules: readonly TestModule[]): object {
  const testResults = modules.map((file) => ({
    name: file.moduleId,
    assertionResults: [
      ...Array.from(file.children.allTests(), (test) => ({
        fullName: test.fullName,
        status: test.result().state,
      })),
      ...(file.children.size === 0 ? [{ fullName: file.relativeModuleId, status: 'pending' }] : []),
    ],
  }));
  const tests = testResults.flatMap(({ assertionResults }) => assertionResults);
  return {
    numTotalTests: tests.length,
    numPassedTests: tests.filter(({ status }) => status === 'passed').length,
    testResults,
  };
}
