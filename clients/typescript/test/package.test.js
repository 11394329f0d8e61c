/** The package as `npm pack` makes it, used by a program in Node and by a bundler. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, readdir, symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { cleanups, folder, serve } from "./processes.js";

const run = promisify(execFile);
const root = fileURLToPath(new URL("..", import.meta.url));

test("the package", { timeout: 200_000 }, async (t) => {
  const context = cleanups(t);
  const dir = await folder(context);
  const { stdout } = await run("npm", ["pack", "--json", "--pack-destination", dir], { cwd: root });
  const [packed] = JSON.parse(stdout);
  const unexpected = packed.files
    .map((/** @type {{ path: string }} */ f) => f.path)
    .filter((/** @type {string} */ f) => !/^(dist\/.*\.(js|d\.ts)|package\.json|README\.md)$/.test(f));
  assert.deepEqual(unexpected, []);

  const modules = path.join(dir, "node_modules");
  const installed = path.join(modules, "@cleave-project", "cleave");
  await mkdir(installed, { recursive: true });
  await run("tar", ["xzf", path.join(dir, packed.filename), "-C", installed, "--strip-components=1"]);
  for (const dependency of ["@bufbuild", "@connectrpc", "undici"])
    await symlink(path.join(root, "node_modules", dependency), path.join(modules, dependency));
  await writeFile(path.join(dir, "package.json"), '{"type": "module"}');

  await t.test("in Node, with its types", async () => {
    const program = `
      import { Cleave, v1 } from "@cleave-project/cleave";
      const cleave = new Cleave({ baseUrl: process.argv[2]! });
      const job = await cleave.cluster([[0], [1], [2], [10], [11], [12]], { k: 2, cannotLink: [[0, 3]] });
      const labels: Int32Array = (await job.labels()).labels;
      console.log(labels.join(), v1.JobState[job.state.state]);`;
    await writeFile(path.join(dir, "program.ts"), program);
    await symlink(path.join(root, "node_modules", "@types"), path.join(modules, "@types"));
    await symlink(path.join(root, "node_modules", "undici-types"), path.join(modules, "undici-types"));
    const compiler = path.join(root, "node_modules", ".bin", "tsc");
    await run(
      compiler,
      [
        "--strict",
        "--skipLibCheck",
        "--target",
        "es2022",
        "--module",
        "nodenext",
        "--noUncheckedIndexedAccess",
        "program.ts",
      ],
      { cwd: dir },
    );
    const { stdout } = await run(process.execPath, ["program.js", await serve(context)], { cwd: dir });
    assert.equal(stdout, "1,1,1,0,0,0 SUCCEEDED\n");
  });

  await t.test("in a bundle for browsers, without the parts for Node", async () => {
    await writeFile(
      path.join(dir, "page.js"),
      'import { Cleave } from "@cleave-project/cleave"; ' +
        'globalThis.cleave = new Cleave({ baseUrl: "http://localhost:7400" });',
    );
    const { stdout } = await run(
      path.join(root, "node_modules", ".bin", "esbuild"),
      ["page.js", "--bundle", "--format=esm", "--platform=browser", "--minify"],
      { cwd: dir, maxBuffer: 1 << 24 },
    );
    assert.doesNotMatch(stdout, /undici|node:/);
  });
  assert.ok((await readdir(dir)).includes(packed.filename));
});
